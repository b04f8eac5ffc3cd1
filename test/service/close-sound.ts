import { expect } from 'vitest'
import { audit } from '#ledger/audit/audit.ts'
import type { OpenedService } from './open-service.ts'

/** Closes a service at the end of its tests: its ledger adds up, and nothing unforeseen was logged. */
export async function closeSound(service: Pick<OpenedService, 'database' | 'logged' | 'close'>): Promise<void> {
  expect((await audit(service.database)).findings).toEqual([])
  expect(service.logged.filter(line => line.level === 'error')).toEqual([])
  await service.close()
}
