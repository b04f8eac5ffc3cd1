import { targetOf } from './rooms.ts'
import type { ParsedFile, Violation } from './source-file.ts'

/**
 * Folders with parts of their own, each with the parts that it may import; `*` is every part that is not named. What lies
 * beside the parts puts them together: it may import all of them, and they only its `bounds.ts`.
 */
export const parts: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'src/payments': {
    payment: [],
    facilitators: ['payment'],
    // A rail each.
    '*': ['payment', 'facilitators'],
    rails: ['payment', 'facilitators', '*'],
    'top-ups': ['payment', 'facilitators', 'rails'],
  },
}

/** The parts of a folder import each other along the arrows only. */
export function wrongPartArrows(files: readonly ParsedFile[]): Violation[] {
  return files.flatMap(({ path, imports }) => {
    const folder = Object.keys(parts).find(each => path.startsWith(`${each}/`))
    if (folder === undefined) return []
    const part = partOf(path, folder)
    if (part === undefined) return []
    const arrows = parts[folder] ?? {}
    const allowed = arrows[part] ?? arrows['*'] ?? []
    return imports.flatMap(({ specifier, line }) => {
      const target = targetOf(path, specifier)
      if (!target?.startsWith(`${folder}/`) || target === `${folder}/bounds.ts`) return []
      const other = partOf(target, folder)
      if (other === part || (other !== undefined && allowed.includes(other in arrows ? other : '*'))) return []
      return [{ path, line, message: `${part} may not import ${target.slice(folder.length + 1)}` }]
    })
  })
}

/** Undefined for what lies beside the parts. */
function partOf(path: string, folder: string): string | undefined {
  const [first, ...rest] = path.slice(folder.length + 1).split('/')
  return rest.length > 0 ? first : undefined
}
