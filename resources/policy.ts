import { keepMs } from '#toolkit/bounds.ts'
import { defineResource } from '#toolkit/define.ts'
import { walletOutput } from '#toolkit/output/wallet.ts'

/** The decisions that only the user makes, as listed in docs/wallet.md. */
const userDecides = [
  'A call or a requested top-up above `caps_usd.ask_above`. If a call needs credit, the wallet buys 5 USD without asking, or more if the call costs more, within the caps.',
  'The first payment of a wallet that was created in a conversation, while `next_payment_asks` is true.',
  'A call without a known price.',
  'Repeating a call whose answer was lost, if the service might charge for both.',
  'The first payment to an address.',
  'A consent policy, such as the one for a face in an image.',
]

export default defineResource({
  name: 'policy',
  title: 'Wallet policy',
  description: 'Caps of the wallet, what was spent, and what needs the user’s approval.',
  uri: 'farebox://policy',
  mimeType: 'application/json',
  needs: ['wallet_status'],
  keepMs: keepMs.money,

  async read(context) {
    const policy = {
      ...walletOutput(await context.wallet.status()),
      the_user_decides: userDecides,
      where: 'In a dialog of the assistant if it has one, otherwise in a terminal with the command in the request.',
      caps_change: 'Only the user can raise a cap, in the environment of this server.',
    }
    return { text: JSON.stringify(policy, null, 2) }
  },
})
