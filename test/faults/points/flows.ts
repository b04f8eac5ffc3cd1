import type { FaultOrder } from '../arm/fault-orders.ts'
import { budgetChats } from '../loads/budget-chat.ts'
import { cutChat } from '../loads/cut-chat.ts'
import { keyedCalls } from '../loads/keyed-call.ts'
import { solanaTopUps } from '../loads/solana-top-up.ts'
import { stakingChats } from '../loads/staking-chat.ts'
import { longStreams, streamedChat } from '../loads/streamed-chat.ts'
import { topUps } from '../loads/top-up.ts'
import { queueVideos, retrieveVideos } from '../loads/video.ts'
import { walletChat } from '../loads/wallet-chat.ts'
import { wholeChat } from '../loads/whole-chat.ts'
import type { Mix } from '../start-load.ts'

/** What somebody does, and the points that a process comes by while it serves that. */
export interface Flow {
  name: string
  mix: Mix
  /** How the world behaves meanwhile. */
  world?: FaultOrder
  points: readonly string[]
}

/** Before it, while it is under way, and after it is durable and before anybody knows. */
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

/** A payment that has landed, and nobody knows. */
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
