import type { SourceFile, Violation } from './source-file.ts'

const KEBAB = /^\.?[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*$/
/** Names that say where a thing is kept instead of what it is. */
const DRAWERS = /(^|[-/])(utils?|helpers?|common|managers?)([-./]|$)|(^|\/)types?([./]|$)/

export const wrongNames = (files: readonly Pick<SourceFile, 'path'>[]): Violation[] =>
  files.flatMap(({ path }) => {
    const part = path.split('/').find(name => !KEBAB.test(name))
    if (part !== undefined) return [{ path, line: 1, message: `\`${part}\` is not kebab-case` }]
    return DRAWERS.test(path) ? [{ path, line: 1, message: 'is named as a drawer, not for what is in it' }] : []
  })
