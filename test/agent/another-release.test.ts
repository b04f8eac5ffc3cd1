/** A data folder in which another release has used only the wallet, or only the agent: this release uses neither. */
import { expect, onTestFinished, test } from 'vitest'
import { keptCharges } from '#agent/receipts/receipt-rows.ts'
import { openOwnerWallet } from '#agent/wallet/owner-wallet.ts'
import { openState } from '#wallet/records/state.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { openAgent } from './open-agent.ts'
import { pretendService } from './pretend-service.ts'

test.each(['wallet', 'agent'])('a folder whose %s another release has used', async area => {
  const dataFolder = temporaryFolder()
  const other = openState(dataFolder)
  other.prepare(area, [{ name: '0001-other', sql: 'CREATE TABLE other (n INTEGER)' }])
  other.close()
  const wrote = expect.stringContaining('agent.db cannot be used: another release of farebox wrote them.')

  const service = await pretendService({ quote: 2 })
  onTestFinished(() => service.close())
  const agent = await openAgent({ baseUrl: service.baseUrl, apiKey: 'a key', dataFolder })
  onTestFinished(() => agent.host.close())
  await expect(agent.chat()).rejects.toMatchObject({ facts: { happened: wrote, charged: 0n } })
  expect(service.seen.filter(({ path }) => path.endsWith('/chat/completions'))).toEqual([])

  const refused = { rule: 'state', sentence: wrote }
  const owner = openOwnerWallet(dataFolder, {})
  onTestFinished(() => owner.close())
  await expect(owner.receipts(5)).rejects.toMatchObject(refused)
  expect(() => keptCharges(dataFolder, 5)).toThrow(expect.objectContaining(refused))
})
