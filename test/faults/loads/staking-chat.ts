import { setTimeout as sleep } from 'node:timers/promises'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { fromUsdNumber } from '#contract/money.ts'
import { boundedTokens, dailyCredit, stakerMicroUsd } from '../bounds.ts'
import type { Staker } from '../load-records.ts'
import { fund } from '../prepare.ts'
import type { Round } from '../round.ts'
import type { Seeded } from '../seeded.ts'
import { costOf, refused, requestIdOf, send, textOf } from '../send.ts'
import { stake } from '../stakes.ts'
import { chatOf } from './prompts.ts'
import { signTopUp } from './sign-payment.ts'
import { pay } from './top-up.ts'
import { signIn } from './wallet-chat.ts'

/** Chat by wallets that stake, one call of each at a time: their daily credit pays as far as it goes, then their USD. */
export async function stakingChats(round: Round, seeded: Seeded): Promise<void> {
  const coming: Promise<void>[] = []
  while (!round.isOver()) {
    // Not waited for: those of earlier starts have something left.
    if (round.budget.stakers > 0) {
      round.budget.stakers--
      coming.push(newStaker(round, seeded))
    }
    const free = round.book.stakers.filter(({ isBusy, topUp }) => !isBusy && topUp.acknowledged)
    // The latest has most of its credit left.
    const staker = seeded.once(3) ? seeded.pick(free) : free.at(-1)
    if (staker) await askOnce(round, seeded, staker)
    else await sleep(20)
  }
  await Promise.all(coming)
}

/** One that has staked, and has been credited with USD if the server lived to tell. */
export async function newStaker(round: Round, seeded: Seeded): Promise<void> {
  const wallet = privateKeyToAccount(generatePrivateKey())
  const dailyMicroUsd = dailyCredit.leastMicroUsd + BigInt(seeded.below(dailyCredit.drawnMicroUsd))
  await stake(round.rpcUrl, wallet.address, dailyMicroUsd)
  await fund(round.folder, wallet.address, stakerMicroUsd)
  const topUp = await signTopUp(wallet, round.option, stakerMicroUsd)
  round.book.topUps.push(topUp)
  round.book.stakers.push({ wallet, dailyMicroUsd, topUp, isBusy: false, unknownAtMs: [] })
  await pay(round, topUp)
}

async function askOnce(round: Round, seeded: Seeded, staker: Staker): Promise<void> {
  staker.isBusy = true
  try {
    await chatOnce(round, seeded, staker)
  } finally {
    staker.isBusy = false
  }
}

async function chatOnce(round: Round, seeded: Seeded, staker: Staker): Promise<void> {
  const { book } = round
  const path = '/chat/completions'
  const headers = await signIn(staker.wallet, `${round.baseUrl}${path}`)
  const sentAtMs = Date.now()
  const body = { ...chatOf(seeded, 60), max_tokens: boundedTokens }
  const response = await send(round, { kind: 'staking chat', path, headers, body })
  const text = response?.status === 200 ? await textOf(response) : null
  if (!response || text === null) {
    staker.unknownAtMs.push(sentAtMs)
    if (response?.status === 200) book.open.add(requestIdOf(response))
    else if (response) await refused(round, 'staking chat', response)
    return
  }
  const answer = JSON.parse(text) as { cost?: { usd?: number; diem?: number } }
  const usd = costOf(answer)
  const staking = typeof answer.cost?.diem === 'number' ? fromUsdNumber(answer.cost.diem) : null
  if (usd === null || staking === null) return book.surprise('staking chat', `200 without its costs: ${text}`)
  book.staking.set(requestIdOf(response), staking)
  book.charge('staking chat', requestIdOf(response), usd + staking)
}
