/**
 * Sends once, as `farebox wallet send` does, and is killed at its work: `FOLDER NODE FACILITATOR TO AMOUNT [KILL] [N]`.
 * KILL is `before N` or `after N` (the N-th decision), `sending` (with the signed transfer in hand) or `settled` (before
 * the answer is written down).
 */
import { keyFromHex } from '#wallet/keys/keys.ts'
import type { Records } from '#wallet/records/records.ts'
import { facilitatorAt } from '#wallet/send/settler.ts'
import { secret } from '../sample-wallet.ts'
import { owner } from './sending.ts'

const [, , folder = '', node = '', facilitator = '', to = '', amount = '', kill = '', nth = '0'] = process.argv

const end = () => process.kill(process.pid, 'SIGKILL')

function wrap(records: Records): Records {
  let decisions = 0
  return {
    ...records,
    async decide(work) {
      const isTheOne = ++decisions === Number(nth)
      if (isTheOne && kill === 'before') end()
      const result = await records.decide(work)
      if (isTheOne && kill === 'after') end()
      return result
    },
  }
}

const settler = facilitatorAt(facilitator)
const { send, close } = owner({ folder, key: await keyFromHex(secret), nodes: { eip155: node }, wrap })
await send(to, amount, {
  ...settler,
  async settle(payment, option) {
    if (kill === 'sending') end()
    const answer = await settler.settle(payment, option)
    if (kill === 'settled') end()
    return answer
  },
})
await close()
