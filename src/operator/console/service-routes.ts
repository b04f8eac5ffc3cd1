import { ServiceError } from '#contract/errors/service-error.ts'
import { PageRefusal } from '#host/pages/page-refusal.ts'
import type { AuditResult, LiveFigures, PaymentProblems, Recent, SignedReceipt } from '#pages/console/wire.ts'
import type { ConsoleRoutes, RouteContext } from './console-route.ts'
import { liveFigures } from './recent-requests.ts'

/** What this process reports about itself, and the audit. */
export const serviceRoutes: ConsoleRoutes = {
  'POST /api/live': {
    role: 'read',
    async run(_, context): Promise<LiveFigures> {
      const { recent, clock } = context
      return withNames(context, liveFigures([recent.summary(clock.now())], 1))
    },
  },
  'POST /api/recent': {
    role: 'read',
    run: async ({ body }, { recent }): Promise<Recent> => ({ request: recent.find(textOf(body, 'request')) }),
  },
  'POST /api/receipt': {
    role: 'read',
    async run({ body }, { receipts }): Promise<SignedReceipt> {
      try {
        return await receipts.of(textOf(body, 'customer'), textOf(body, 'request'))
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error
        throw new PageRefusal(404, 'The ledger has no receipt for this request.', 'See its entries.')
      }
    },
  },
  'POST /api/payment-problems': {
    role: 'read',
    run: async (_, { payments }): Promise<PaymentProblems> => ({ problems: [...(payments?.problems?.() ?? [])] }),
  },
  'POST /api/audit': {
    role: 'read',
    async run(_, { audits, clock }): Promise<AuditResult> {
      if (!audits)
        throw new PageRefusal(409, 'This service cannot audit its ledger here.', 'Run `farebox ledger audit`.')
      const beganMs = clock.now()
      const report = await audits.run()
      const { ok, counts, findings, findingsLeftOff, driftMicroUsd } = report
      return {
        ...{ ok, atMs: clock.now(), tookMs: clock.now() - beganMs },
        counts: Object.entries(counts).map(([name, count]) => ({ name, count })),
        driftMicroUsd: `${driftMicroUsd}`,
        findings: findings.slice(0, shownFindings),
        findingsLeftOff: findingsLeftOff + Math.max(0, findings.length - shownFindings),
      }
    },
  },
}

/** The number of findings that the page shows; the command lists more. */
const shownFindings = 100

/** Reads a member of the body; a missing one becomes empty, which is never a valid id. */
function textOf(body: object, name: string): string {
  const value: unknown = Reflect.get(body, name)
  return typeof value === 'string' ? value : ''
}

/** Reads a few rows by their key, which is cheaper here than on another thread. */
async function withNames({ store }: RouteContext, live: LiveFigures): Promise<LiveFigures> {
  const ids = live.byCustomer.map(({ customer }) => customer)
  if (ids.length === 0) return live
  const rows = await store.read.selectFrom('customer').select(['account', 'name']).where('account', 'in', ids).execute()
  const names = new Map(rows.map(({ account, name }) => [account, name]))
  return { ...live, byCustomer: live.byCustomer.map(row => ({ ...row, name: names.get(row.customer) ?? null })) }
}
