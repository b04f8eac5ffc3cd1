import { z } from 'zod'
import { issueSentence } from '#contract/errors/issue-sentence.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { zeroUsd } from '#contract/money.ts'
import { dayOfText } from '#contract/time.ts'
import { PageRefusal } from '#host/pages/page-guards.ts'
import { balanceOf } from '#ledger/accounts/balances.ts'
import {
  type BalanceView,
  type InvoiceView,
  type LimitsView,
  type RequestView,
  spendDays,
} from '#pages/account/wire.ts'
import type { AccountRoutes, RouteContext } from './account-route.ts'
import { type AccountSession, seesAccount } from './account-sessions.ts'
import type { Scope } from './queries/sums.ts'

/** PostgreSQL stores neither NUL nor unpaired surrogates: a filter with one would fail instead of finding nothing. */
const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

const Term = z.string().min(1).max(200).refine(isStorable, 'Must be text without NUL or unpaired surrogates')
const Day = z.string().refine(text => dayOfText(text) !== null, 'Must be a day such as 2026-11-01')
const Month = z.string().regex(/^2\d{3}-(0[1-9]|1[0-2])$/, 'a month such as 2026-11')

const SpendInput = z.strictObject({ days: z.literal(spendDays) })
const RequestsInput = z.strictObject({
  model: Term.optional(),
  key: Term.optional(),
  from: Day.optional(),
  to: Day.optional(),
  after: Term.optional(),
})
const RequestInput = z.strictObject({ request: Term })
const InvoicesInput = z.strictObject({ after: Month.optional() })
const InvoiceInput = z.strictObject({ month: Month })

/** Parses the body of a request. Throws a 400 that names each invalid member. */
export function inputOf<Input>(schema: z.ZodType<Input>, body: object): Input {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(issue => faultOf(issue.path, issueSentence(issue)))
  throw new PageRefusal(400, `${faults.join('; ')}.`, changeNext)
}

export const changeNext = 'Change it, then try again.'

/** What is wrong with a member, by its name in the page’s forms. */
export function faultOf(path: readonly PropertyKey[], sentence: string): string {
  const member = path.map(String).join('.') || 'body'
  return `${Object.hasOwn(labels, member) ? labels[member] : `\`${member}\``}: ${sentence}`
}

const labels: Readonly<Record<string, string>> = {
  ...{ description: 'Label', apiKeyType: 'Role', expiresAt: 'Ends on' },
  ...{ consumptionLimit: 'Budget', 'consumptionLimit.usd': 'Budget', limitPeriod: 'The budget resets' },
  ...{ model: 'Model', key: 'Key', from: 'From', to: 'To', month: 'Month', request: 'Request' },
}

/** What a session may see. Nothing in a request widens it. */
const scopeOf = ({ principal }: AccountSession): Scope => ({
  account: principal.account,
  key: principal.kind === 'key' && !seesAccount(principal) ? principal.keyId : null,
})

/** Balances, spend, requests, limits and invoices. */
export const figureRoutes: AccountRoutes = {
  'POST /account/api/balance': { run: ({ session }, context) => balance(session, context) },
  'POST /account/api/spend': {
    run: ({ body, session }, { ask }) => ask('spend', { scope: scopeOf(session), ...inputOf(SpendInput, body) }),
  },
  'POST /account/api/requests': {
    run: ({ body, session }, { ask }) =>
      ask('requests', { scope: scopeOf(session), filter: inputOf(RequestsInput, body) }),
  },
  'POST /account/api/request': {
    run: ({ body, session }, context) => request(inputOf(RequestInput, body).request, session, context),
  },
  'POST /account/api/limits': { run: ({ session }, context) => limits(session, context) },
  'POST /account/api/invoices': {
    isForAccount: true,
    run: ({ body, session }, { ask }) =>
      ask('invoices', { account: session.principal.account, ...inputOf(InvoicesInput, body) }),
  },
  'POST /account/api/invoice': {
    isForAccount: true,
    run: ({ body, session }, context) => invoice(inputOf(InvoiceInput, body).month, session, context),
  },
}

async function balance(session: AccountSession, { store, funding, ask }: RouteContext): Promise<BalanceView> {
  const { principal } = session
  const [{ within, staking }, today, whole, open] = await Promise.all([
    funding.spendable(principal),
    funding.stakingToday(principal),
    seesAccount(principal) ? balanceOf(store, principal.account) : null,
    ask('holds', { scope: scopeOf(session) }),
  ])
  return {
    available: `${within.usd}`,
    staking: staking === null ? null : { left: `${within.staking}`, today: `${today ?? zeroUsd}` },
    account: whole && { posted: `${whole.postedMicroUsd}`, held: `${whole.heldMicroUsd}` },
    ...open,
  }
}

async function request(id: string, session: AccountSession, { ask, receipts }: RouteContext): Promise<RequestView> {
  const scope = scopeOf(session)
  const found = await ask('request', { scope, request: id })
  if (!found) throw new PageRefusal(404, 'No request of yours has this id.', 'Copy the id from the list.')
  const receipt = await receipts.of(scope.account, id).catch(error => {
    if (error instanceof ServiceError && error.status === 404) return null
    throw error
  })
  return { ...found, receipt }
}

async function limits(session: AccountSession, context: RouteContext): Promise<LimitsView> {
  const { principal } = session
  const { key } = scopeOf(session)
  const [{ data }, { data: hits }] = await Promise.all([
    context.rateLimits(principal),
    context.limitLog.read(principal.account),
  ])
  const shown = hits.filter(({ apiKeyId }) => key === null || apiKeyId === key)
  const names = await keyNames(context, principal.account, [...new Set(shown.map(({ apiKeyId }) => apiKeyId))])
  return {
    plan: principal.plan,
    accessPermitted: data.accessPermitted,
    rows: data.rateLimits.map(({ apiModelId = '', rateLimits }) => ({
      model: apiModelId,
      requestsPerMinute: rateLimits.find(({ type }) => type === 'RPM')?.amount ?? null,
      tokensPerMinute: rateLimits.find(({ type }) => type === 'TPM')?.amount ?? null,
    })),
    hits: shown.map(({ timestamp, modelId, rateLimitType, rateLimitTier, apiKeyId }) => ({
      ...{ atMs: Date.parse(timestamp), model: modelId, type: rateLimitType, tier: rateLimitTier },
      key: names.get(apiKeyId) ?? null,
    })),
  }
}

/** A few rows by their id are cheaper to read here than on another thread. */
async function keyNames({ store }: RouteContext, account: string, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, string>()
  const rows = await store.read
    .selectFrom('api_key')
    .select(['id', 'label', 'prefix'])
    .where('id', 'in', ids)
    .where('account', '=', account)
    .execute()
  return new Map(rows.map(({ id, label, prefix }) => [id, label || `${prefix}…`]))
}

async function invoice(
  month: string,
  { principal }: AccountSession,
  { ask, page, settings }: RouteContext,
): Promise<InvoiceView> {
  const found = await ask('invoice', { account: principal.account, month })
  if (!found) throw new PageRefusal(404, `There is no invoice for ${month}.`, 'Choose a month from the list.')
  const seller = (page.seller ?? settings.publicUrl).split('\n').map(line => line.trim())
  return { ...found, seller: seller.filter(line => line !== '') }
}
