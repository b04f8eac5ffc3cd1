import { modelChosenSeconds } from './bounds.ts'

/** `8s` is 8; a model that decides itself makes a video of one known length. */
export const secondsOf = (duration: string): number => Number(/^(\d+)s$/.exec(duration)?.[1] ?? modelChosenSeconds)
