import { setTimeout as sleep } from 'node:timers/promises'
import { boundedHoldMicroUsd, boundedTokens, budgetRefusals, keyBudget } from '../bounds.ts'
import type { BudgetKey } from '../load-records.ts'
import { makeBudgetKey } from '../prepare.ts'
import type { Round } from '../round.ts'
import type { Seeded } from '../seeded.ts'
import { costOf, refused, requestIdOf, send, textOf } from '../send.ts'
import { chatOf } from './prompts.ts'

/** Chat by keys with a small budget, until it is used up: the account has credit for far more. */
export async function budgetChats(round: Round, seeded: Seeded): Promise<void> {
  let refusals = 0
  while (!round.isOver()) {
    const open = round.book.budgetKeys.filter(({ isUsedUp }) => !isUsedUp)
    const old = refusals < budgetRefusals && seeded.once(10) ? seeded.pick(round.book.budgetKeys) : undefined
    const key = old ?? seeded.pick(open) ?? (await anotherKey(round, seeded))
    if (!key || refusals >= 2 * budgetRefusals) await sleep(20)
    else if ((await askOnce(round, seeded, key)) === 'refused') refusals++
  }
}

async function anotherKey(round: Round, seeded: Seeded): Promise<BudgetKey | null> {
  if (round.budget.keys <= 0) return null
  round.budget.keys--
  const period = seeded.once(3) ? 'epoch' : 'lifetime'
  const limitMicroUsd = keyBudget.leastMicroUsd + BigInt(seeded.below(keyBudget.drawnMicroUsd))
  const made = await makeBudgetKey(round.folder, round.limited, { period, limitMicroUsd })
  if (!made) return null
  const { key, keyId } = made
  const fresh = {
    key,
    keyId,
    period,
    limitMicroUsd,
    spentMicroUsd: 0n,
    sent: 0,
    underWay: 0,
    unknown: 0,
    isUsedUp: false,
  } as const
  const budgetKey: BudgetKey = { ...fresh }
  round.book.budgetKeys.push(budgetKey)
  return budgetKey
}

async function askOnce(round: Round, seeded: Seeded, key: BudgetKey): Promise<'refused' | null> {
  const { book } = round
  const path = '/chat/completions'
  const headers = { authorization: `Bearer ${key.key}` }
  const body = { ...chatOf(seeded, 60), max_tokens: boundedTokens }
  const before = key.underWay++
  const nth = ++key.sent
  const response = await send(round, { kind: 'budget chat', path, headers, body })
  const text = response?.status === 200 ? await textOf(response) : null
  key.underWay--
  // Any call in flight during this one may have held the budget that it needed.
  if (response?.status === 402) return overBudget(round, key, response, before + key.sent - nth)
  if (!response || text === null) {
    key.unknown++
    if (response?.status === 200) book.open.add(requestIdOf(response))
    else if (response) await refused(round, 'budget chat', response)
    return null
  }
  const cost = costOf(JSON.parse(text))
  if (cost === null) book.surprise('budget chat', `200 without a cost: ${text}`)
  book.budgeted.set(requestIdOf(response), key.keyId)
  book.charge('budget chat', requestIdOf(response), cost)
  key.spentMicroUsd += cost ?? 0n
  return null
}

/** Right where what is left may not cover the call, whatever the others of this key hold. */
async function overBudget(round: Round, key: BudgetKey, response: Response, beside: number): Promise<'refused'> {
  const { book } = round
  const calls = BigInt(1 + beside + key.unknown)
  const body = await refused(round, 'budget chat', response, [402])
  book.overBudget++
  if (!body?.includes('spend limit')) book.surprise('budget chat', `402 ${body}`)
  const leftMicroUsd = key.limitMicroUsd - key.spentMicroUsd
  if (leftMicroUsd >= boundedHoldMicroUsd * calls) {
    book.surprise('budget chat', `402 with ${leftMicroUsd} of ${key.limitMicroUsd} micro-USD of its budget left`)
  }
  key.isUsedUp = true
  return 'refused'
}
