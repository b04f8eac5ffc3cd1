import type { FaultOrder } from '../arm/fault-orders.ts'
import { newPaymentsOfAStart, pointMs } from '../bounds.ts'
import type { KillPlan, Life } from '../kill-plan.ts'
import { budgetChats } from '../loads/budget-chat.ts'
import { cutChat, longStreams, streamedChat, wholeChat } from '../loads/chats.ts'
import { keyedCalls } from '../loads/keyed-call.ts'
import { solanaTopUps } from '../loads/solana-top-up.ts'
import { stakingChats } from '../loads/staking-chat.ts'
import { topUps } from '../loads/top-up.ts'
import { queueVideos, retrieveVideos } from '../loads/video.ts'
import { walletChat } from '../loads/wallet-chat.ts'
import type { Mix } from '../start-load.ts'

/** A caller's action, and the points that a process passes while it serves it. */
export interface Flow {
  name: string
  mix: Mix
  /** How the world behaves meanwhile. */
  world?: FaultOrder
  points: readonly string[]
}

/** Before it, while it is in flight, and after it is durable but before the caller knows. */
const commitOf = (name: string): string[] => [`before ${name}`, `during ${name}`, `after ${name}`]

const callOf = (name: string): string[] => [`before ${name}`, `after ${name}`]

/** A payment that is settled as it should be. */
const settledPayment = [
  ...callOf('verifying'),
  ...commitOf('payment settling'),
  ...callOf('settling'),
  ...callOf('asking the chain'),
  ...commitOf('payment credited'),
]

/** A payment that has landed, unknown to the service. */
const unknownPayment = [...commitOf('payment unknown'), 'after asking the chain', ...commitOf('payment credited')]

const evmTopUps: Mix = [['top-up', topUps, 3]]
const svmTopUps: Mix = [['solana', solanaTopUps, 3]]

export const flows: readonly Flow[] = [
  {
    name: 'chat',
    mix: [['chat', wholeChat, 2]],
    points: [...commitOf('hold'), ...callOf('the chat engine'), ...commitOf('capture')],
  },
  {
    name: 'stream',
    mix: [['stream', streamedChat, 3]],
    points: [...commitOf('hold'), ...callOf('the chat engine'), 'between chunks', ...commitOf('capture')],
  },
  {
    name: 'long stream',
    mix: [['long', longStreams, 3]],
    points: [...commitOf('renew'), 'after capture'],
  },
  { name: 'stream cut by its reader', mix: [['cut', cutChat, 3]], points: commitOf('capture') },
  {
    name: 'wallet chat',
    mix: [
      ['wallet', walletChat, 2],
      ['top-up', topUps, 1],
    ],
    points: [...commitOf('nonce'), 'after hold', 'after capture'],
  },
  {
    name: 'call under a key',
    mix: [['keyed', keyedCalls, 3]],
    points: [...commitOf('claim running'), 'after hold', ...commitOf('claim done')],
  },
  {
    name: 'chat with a budget',
    mix: [['budget', budgetChats, 2]],
    points: ['after hold', ...commitOf('capture')],
  },
  {
    name: 'chat with a stake',
    mix: [['staking', stakingChats, 2]],
    points: ['after hold', ...commitOf('capture')],
  },
  { name: 'top-up', mix: evmTopUps, points: settledPayment },
  { name: 'top-up on Solana', mix: svmTopUps, points: settledPayment },
  {
    name: 'top-up whose settlement gives no answer',
    mix: evmTopUps,
    world: { loseAnswers: true },
    points: unknownPayment,
  },
  {
    name: 'top-up on Solana whose settlement gives no answer',
    mix: svmTopUps,
    world: { loseAnswers: true },
    points: unknownPayment,
  },
  {
    name: 'video',
    mix: [
      ['queue', queueVideos, 2],
      ['retrieve', retrieveVideos, 1],
    ],
    points: [
      ...commitOf('job queued'),
      ...commitOf('job running'),
      ...callOf('starting a video'),
      'after a video is made',
      ...callOf('taking a file'),
      ...commitOf('job completed'),
    ],
  },
  {
    name: 'video that fails',
    mix: [['queue', queueVideos, 2]],
    world: { failVideos: true },
    points: commitOf('job failed'),
  },
]

/** What a start comes by, after a kill at a point that leaves work for it. */
export interface StartFlow {
  name: string
  mix: Mix
  killedAt: string
  points: readonly string[]
}

const resumedPayment = [...callOf('asking the chain'), 'before settling', 'after payment credited']

export const startFlows: readonly StartFlow[] = [
  { name: 'start after a chat', mix: [['chat', wholeChat, 3]], killedAt: 'after hold', points: commitOf('release') },
  // What a stream has written down is what the start charges.
  {
    name: 'start after a long stream',
    mix: [['long', longStreams, 3]],
    killedAt: 'after renew',
    points: commitOf('capture'),
  },
  { name: 'start after a top-up', mix: evmTopUps, killedAt: 'after payment settling', points: resumedPayment },
  {
    name: 'start after a top-up on Solana',
    mix: svmTopUps,
    killedAt: 'after payment settling',
    points: resumedPayment,
  },
  {
    name: 'start after a video',
    mix: [['queue', queueVideos, 2]],
    killedAt: 'after job queued',
    points: commitOf('job running'),
  },
]

/** How often each point of each flow was come by, and how often it was tried. */
export type Reached = Map<string, { reached: number; tried: number }>

export interface PointOptions {
  /** So often each. */
  times: number
  /** Only these, of all `flow: point`; all where absent. */
  only?: readonly string[]
}

/** A plan for each kill at a point of a flow, until each was come by so often, or was tried in vain too often. */
export function* pointPlans({ times, only }: PointOptions, reached: Reached): Generator<KillPlan> {
  const isWanted = (name: string) => !only || only.includes(name)
  const most = times + triesInVain
  for (const flow of flows) {
    for (const point of flow.points) {
      const name = `${flow.name}: ${point}`
      if (isWanted(name)) yield* plansOf(name, times, most, reached, told => servingPlan(flow, point, told))
    }
  }
  for (const flow of startFlows) {
    for (const point of flow.points) {
      const name = `${flow.name}: ${point}`
      if (isWanted(name)) yield* plansOf(name, times, most, reached, told => startingPlan(flow, point, told))
    }
  }
}

/** A point may be missed: another kill may have to come by a moment that only some lives have. */
const triesInVain = 6

/** Which of the passes is the last one; drawn from the first few, so that the ledger differ from kill to kill. */
const passes = 3

type Told = (died: boolean) => void

function* plansOf(
  name: string,
  times: number,
  most: number,
  reached: Reached,
  planOf: (told: Told) => KillPlan,
): Generator<KillPlan> {
  const count = { reached: 0, tried: 0 }
  reached.set(name, count)
  while (count.reached < times && count.tried < most) {
    count.tried++
    yield planOf(died => {
      if (died) count.reached++
    })
  }
}

const servingPlan = (flow: Flow, point: string, told: Told): KillPlan => ({
  mix: flow.mix,
  isArmed: true,
  mayComplain: flow.world !== undefined,
  async untilKill(life) {
    life.round.book.videosMayFail ||= flow.world?.failVideos ?? false
    told(await diesAt(life, point, flow.world))
  },
})

/** Whether it came by that point, at one of the first passes. */
async function diesAt({ server, round, seeded }: Life, point: string, world: FaultOrder = {}): Promise<boolean> {
  Object.assign(round.budget, pointBudget)
  server.order({ ...world, kill: { point, nth: 1 + seeded.below(passes) } })
  return server.diesWithin(pointMs)
}

/** A flow pays on one chain. */
const pointBudget = { payments: newPaymentsOfAStart, solanaPayments: newPaymentsOfAStart, videos: 6 }

const startingPlan = ({ mix, killedAt }: StartFlow, point: string, told: Told): KillPlan => ({
  mix,
  isArmed: true,
  untilKill: async life => void (await diesAt(life, killedAt)),
  nextStart: { kill: { point, nth: 1 } },
  onNextStart: told,
})
