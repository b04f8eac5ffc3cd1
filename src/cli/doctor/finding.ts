/** What one check found, as one line; never with a secret, nor with more of an address than its host. */
export interface Finding {
  /** What was looked at: `configuration`, `engine`, … */
  check: string
  state: 'ok' | 'note' | 'broken'
  says: string
  /** What to do, where there is something. */
  next?: string
}

/** One thing that is looked at. It finds several things where there are several, and none where it does not matter. */
export type Check = () => Promise<readonly Finding[]>

export const ok = (check: string, says: string): Finding => ({ check, state: 'ok', says })
/** Works, and somebody had better know. */
export const note = (check: string, says: string, next: string): Finding => ({ check, state: 'note', says, next })
export const broken = (check: string, says: string, next: string): Finding => ({ check, state: 'broken', says, next })

/** `!! books: They do not add up. Run …` */
export const findingLine = ({ check, state, says, next }: Finding): string =>
  `${{ ok: 'ok', note: '--', broken: '!!' }[state]} ${check}: ${says}${next ? ` ${next}` : ''}`
