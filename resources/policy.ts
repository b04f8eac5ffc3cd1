import { keepMs } from '#toolkit/bounds.ts'
import { defineResource } from '#toolkit/define-resource.ts'
import { walletOutput } from '#toolkit/wallet-output.ts'

/** The four things that nobody decides but a person (docs/wallet.md). */
const personDecides = [
  'A payment or a call above `ask_above`.',
  'A call whose price cannot be known beforehand.',
  'The first payment to an address.',
  'A consent policy, such as one for a face in a picture.',
]

export default defineResource({
  name: 'policy',
  title: 'Wallet policy',
  description: 'Caps of the wallet, what was spent, and what a person decides.',
  uri: 'farebox://policy',
  mimeType: 'application/json',
  needs: ['wallet_status'],
  keepMs: keepMs.money,

  async read(context) {
    const policy = {
      ...walletOutput(await context.wallet.status()),
      a_person_decides: personDecides,
      where:
        'In the dialogue of an assistant that has one, else in a terminal, by the command that the question names.',
      caps_change: 'Only the person can raise a cap, in the environment of this server.',
    }
    return { text: JSON.stringify(policy, null, 2) }
  },
})
