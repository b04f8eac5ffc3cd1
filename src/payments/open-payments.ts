import { randomUUID } from 'node:crypto'
import type { OpenRail } from './facilitators/rail.ts'
import { type PaymentSettings, RailChains, RailFacilitators, rails } from './rails/rails.ts'
import { TopUps, type TopUpsOptions } from './top-ups/top-up.ts'

/** Takes payments on the rails that are set, and finishes what a crash left. Asks no chain before it is used. */
export async function openPayments(
  payments: PaymentSettings,
  parts: Pick<TopUpsOptions, 'settings' | 'store' | 'clock' | 'log'>,
): Promise<TopUps> {
  const open: [name: string, rail: OpenRail][] = []
  for (const rail of rails) {
    const opened = await rail.open(payments, parts.clock)
    if (opened) open.push([rail.name, opened])
  }
  const chain = new RailChains(Object.fromEntries(open.map(([name, rail]) => [name, rail.chain])))
  const facilitator = new RailFacilitators(Object.fromEntries(open.map(([name, rail]) => [name, rail.facilitator])))
  const topUps = new TopUps({ ...parts, chain, facilitator, owner: randomUUID() })
  await topUps.start()
  return topUps
}
