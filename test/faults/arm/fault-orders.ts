/** What the harness wants of the armed process; what is absent stays as it was. */
export interface FaultOrder {
  /** The process is killed when it comes by this point for the n-th time; null: at none. */
  kill?: { point: string; nth: number } | null
  /** Videos that start from now on fail. */
  failVideos?: boolean
  /** Settlements are made, and their answers lost; so is every other look at the chain. */
  loseAnswers?: boolean
  /** How far its clock is from the machine's. */
  clockSkewMs?: number
}

let kill: FaultOrder['kill'] = null
let passes = 0
let failVideos = false
let clockSkewMs = 0
let loseAnswers = false

export function takeOrder(message: unknown): void {
  const order = message as FaultOrder
  if (order.kill !== undefined) {
    kill = order.kill
    passes = 0
  }
  failVideos = order.failVideos ?? failVideos
  loseAnswers = order.loseAnswers ?? loseAnswers
  clockSkewMs = order.clockSkewMs ?? clockSkewMs
}

/** Comes by a point. Does not return where this is the one, and its time. */
export function comeBy(point: string): void {
  if (kill?.point === point && ++passes >= kill.nth) process.kill(process.pid, 'SIGKILL')
}

/** Whether the next pass of this point is the last one; for points in the middle of something. */
export function isDueAt(point: string): boolean {
  return kill?.point === point && ++passes >= kill.nth
}

export const killNow = (): boolean => process.kill(process.pid, 'SIGKILL')

export const videosFail = (): boolean => failVideos

export const answersAreLost = (): boolean => loseAnswers

export const skewMs = (): number => clockSkewMs
