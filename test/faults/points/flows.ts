import type { FaultOrder } from '../arm/fault-orders.ts'
import { cutChat } from '../loads/cut-chat.ts'
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
    name: 'top-up',
    mix: [['top-up', topUps, 3]],
    points: [
      ...callOf('verifying'),
      ...commitOf('payment settling'),
      ...callOf('settling'),
      ...callOf('asking the chain'),
      ...commitOf('payment credited'),
    ],
  },
  {
    name: 'top-up whose settlement gives no answer',
    mix: [['top-up', topUps, 3]],
    world: { loseAnswers: true },
    points: [...commitOf('payment unknown'), 'after asking the chain', ...commitOf('payment credited')],
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

/** What a start comes by, on a folder that a kill under load has left. */
export const startPoints: readonly string[] = [
  ...commitOf('release'),
  ...commitOf('capture'),
  ...callOf('asking the chain'),
  'before settling',
  ...commitOf('job running'),
]
