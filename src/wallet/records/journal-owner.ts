import { keyFileAddress } from '../keys/key-file.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import { change, first, type Records, type Work } from './records.ts'

/** The wallet whose passphrase a person's word on this journal takes, by its address; null before one has used it. */
function* journalOwner(): Work<string | null> {
  const row = yield* first('SELECT address FROM journal_owner')
  return row ? String(row.address) : null
}

/** The first one stays. */
export function* ownJournal(address: string, nowMs: number): Work<void> {
  if ((yield* journalOwner()) !== null) return
  yield* change(
    'INSERT INTO journal_owner (one, address, since_ms) VALUES (1, ?, ?) ON CONFLICT DO NOTHING',
    address,
    nowMs,
  )
}

/**
 * Records on which the encrypted wallet of a data folder decides: its address is written down with the first thing that
 * is, before there can be a question. Whoever reaches the journal from another folder then still needs that passphrase.
 */
export function ownedRecords(records: Records, folder: string): Records {
  let isOwned = false
  return {
    ...records,
    async decide(work) {
      const address = isOwned ? null : addressIn(folder)
      if (address === null) return records.decide(work)
      const result = await records.decide(function* (nowMs) {
        yield* ownJournal(address, nowMs)
        return yield* work(nowMs)
      })
      isOwned = true
      return result
    },
  }
}

/** A key file that cannot be read opens for nobody, and keeps nobody from switching off. */
function addressIn(folder: string): string | null {
  try {
    return keyFileAddress(folder)
  } catch {
    return null
  }
}

/** Where the journal is that of a wallet which is not among these. */
export function* refuseOther(addresses: readonly string[], folder: string): Work<void> {
  const owner = yield* journalOwner()
  if (owner === null || addresses.includes(owner)) return
  throw new WalletRefusal({
    rule: 'other-owner',
    sentence: `What is decided on this journal is decided by the owner of the wallet ${owner}, and ${folder} does not hold its keys.`,
    nextStep:
      'Run it with `--data` and the folder of that wallet, and give its passphrase; a journal anew begins in another folder or database.',
  })
}
