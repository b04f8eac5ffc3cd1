/**
 * Pays after a 402 until it is refused or killed: `FOLDER ROUNDS SETTLED [KILL]`, each authorization that left as a line in
 * the file SETTLED. KILL is `before N`, `after N` (the N-th decision), `looked N` (the N-th look at how far the journal has
 * come, before it is noted), `syncing N` (a file of its note written, and under no name
 * yet or not safe under it) or `sending`, `settled`: where the process
 * ends itself with SIGKILL. The journal is the folder's, or the one that FAREBOX_JOURNAL_URL names.
 */
import fs, { appendFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { systemClock } from '#contract/time.ts'
import { keyFromHex } from '#wallet/keys/keys.ts'
import { journalMark } from '#wallet/records/journal-of-key.ts'
import { openRecords } from '#wallet/records/open-records.ts'
import type { Records } from '#wallet/records/records.ts'
import { openState } from '#wallet/records/state.ts'
import { NeedsApproval } from '#wallet/terms/approval.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { openWallet } from '#wallet/wallet.ts'
import { credited, nobody, order, policy, readHeader, secret } from './sample-wallet.ts'

const [, , folder = '', rounds = '1', settled = '', kill = '', nth = '0'] = process.argv
const {
  FAREBOX_JOURNAL_URL: journalUrl,
  FAREBOX_MAX_DAY_USD: maxDayUsd,
  FAREBOX_MAX_TOTAL_USD: maxTotalUsd,
} = process.env

const end = () => process.kill(process.pid, 'SIGKILL')

function killing(records: Records): Records {
  let decisions = 0
  let looks = 0
  return {
    ...records,
    async read(work) {
      const result = await records.read(work)
      if ((work as unknown) === journalMark && ++looks === Number(nth) && kill === 'looked') end()
      return result
    },
    async decide(work) {
      decisions++
      const isTheOne = decisions === Number(nth)
      if (isTheOne && kill === 'before') end()
      const result = await records.decide(work)
      if (isTheOne && kill === 'after') end()
      return result
    },
  }
}

if (kill === 'syncing') {
  let synced = 0
  const { fsyncSync } = fs
  fs.fsyncSync = handle => (++synced === Number(nth) ? end() : fsyncSync(handle))
  syncBuiltinESMExports()
}

const state = openState(folder)
const wallet = openWallet({
  key: await keyFromHex(secret),
  policy: policy({ cooldownMs: 0, maxDayUsd, maxTotalUsd }),
  state,
  records: killing(openRecords(state, systemClock, journalUrl)),
  notesFolder: join(folder, 'notes'),
  nodes: nobody,
})

for (let round = 0; round < Number(rounds); round++) {
  try {
    await wallet.pay(order(), async header => {
      if (kill === 'sending') end()
      const { nonce, value } = readHeader(header).authorization
      appendFileSync(settled, `${nonce} ${value}\n`)
      if (kill === 'settled') end()
      return credited(wallet.address, BigInt(value))
    })
  } catch (error) {
    if (error instanceof WalletRefusal && error.rule === 'max-day') break
    if (error instanceof NeedsApproval || error instanceof WalletRefusal) process.exitCode = 3
    else throw error
  }
}
await wallet.close()
