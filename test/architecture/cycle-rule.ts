import { targetOf } from './rooms.ts'
import type { ParsedFile, Violation } from './source-file.ts'

/** Files that import each other's values. Types are erased and dynamic imports run later, so both may be circular. */
export function valueCycles(files: readonly ParsedFile[]): Violation[] {
  const edges = new Map(files.map(file => [file.path, valueTargets(file)]))
  const done = new Set<string>()
  const found: Violation[] = []

  const visit = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path)
    if (start >= 0) {
      found.push({ path, line: 1, message: `imports itself: ${[...way.slice(start), path].join(' → ')}` })
      return
    }
    if (done.has(path)) return
    for (const target of edges.get(path) ?? []) visit(target, [...way, path])
    done.add(path)
  }

  for (const { path } of files) visit(path, [])
  return found
}

const valueTargets = ({ path, imports }: ParsedFile): string[] =>
  imports
    .filter(({ kind, isDynamic }) => kind === 'value' && !isDynamic)
    .flatMap(({ specifier }) => targetOf(path, specifier) ?? [])
