import { keepMs } from '#toolkit/bounds.ts'
import { defineResource } from '#toolkit/define.ts'
import { walletOutput } from '#toolkit/output/wallet.ts'

/** What nobody decides but a person, as docs/wallet.md lists it. */
const personDecides = [
  'A call or a top-up that is wished for above `ask_above`.',
  'A call whose price cannot be known beforehand.',
  'A call whose answer was lost, at a service that may charge for both.',
  'The first payment to an address.',
  'A consent policy, such as the one for a face in an image.',
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
