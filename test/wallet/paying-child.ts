/**
 * Pays after a 402 until it is refused or killed: `FOLDER ROUNDS [KILL]`. KILL is `before N`, `after N` (the N-th
 * transaction) or `sending`, `settled`: where the process ends itself with SIGKILL.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { keyFromHex } from '#wallet/keys.ts'
import { NeedsApproval } from '#wallet/needs-approval.ts'
import { WalletRefusal } from '#wallet/refusal.ts'
import { openState, type State } from '#wallet/state.ts'
import { openWallet } from '#wallet/wallet.ts'
import { credited, order, policy, readHeader, secret } from './sample-wallet.ts'

const [, , folder = '', rounds = '1', kill = '', nth = '0'] = process.argv

const end = () => process.kill(process.pid, 'SIGKILL')

function killing(state: State): State {
  let transactions = 0
  return {
    ...state,
    decide(run) {
      transactions++
      const isTheOne = transactions === Number(nth)
      if (isTheOne && kill === 'before') end()
      const result = state.decide(run)
      if (isTheOne && kill === 'after') end()
      return result
    },
  }
}

const wallet = openWallet({
  key: await keyFromHex(secret),
  policy: policy({ cooldownMs: 0 }),
  state: killing(openState(folder)),
})

for (let round = 0; round < Number(rounds); round++) {
  try {
    await wallet.pay(order(), async header => {
      if (kill === 'sending') end()
      const { nonce, value } = readHeader(header).authorization
      appendFileSync(join(folder, 'settled.txt'), `${nonce} ${value}\n`)
      if (kill === 'settled') end()
      return credited(wallet.address, BigInt(value))
    })
  } catch (error) {
    if (error instanceof WalletRefusal && error.rule === 'max-day') break
    if (error instanceof NeedsApproval || error instanceof WalletRefusal) process.exitCode = 3
    else throw error
  }
}
wallet.close()
