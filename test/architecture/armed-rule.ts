import { posix } from 'node:path'
import type { Node, ParsedFile, Violation } from './source-file.ts'

/** A pair in the list of a harness that replaces modules: a file of the product, and the one that wraps it. */
const pair = /\['([\w/-]+\.ts)', '(armed-[\w-]+\.ts)'\]/g

/**
 * Every name that a harness wraps comes from the file that it replaces and is imported by another one. After a move the
 * product would run unwrapped, and the tests of kills and faults would show nothing.
 */
export function unarmedModules(files: readonly ParsedFile[]): Violation[] {
  const byPath = new Map(files.map(file => [file.path, file]))
  const arming = files.filter(({ path, text }) => /\/arm[^/]*$/.test(path) && text.includes('replaceModules('))
  return arming.flatMap(list =>
    [...list.text.matchAll(pair)].flatMap(([, real = '', armed = '']) => {
      const wrapper = byPath.get(posix.join(posix.dirname(list.path), armed))
      const replaced = byPath.get(`src/${real}`)
      if (!wrapper || !replaced)
        return [{ path: list.path, line: 1, message: `src/${real} or ${armed} does not exist` }]
      if (!wrapper.text.includes(`export * from '#${real}'`))
        return [{ path: wrapper.path, line: 1, message: `exports only a part of src/${real}` }]
      return exportedNames(wrapper)
        .filter(name => !exportedNames(replaced).includes(name) || !isImported(name, replaced, files))
        .map(name => ({
          path: wrapper.path,
          line: 1,
          message: `wraps ${name}, which no file imports from src/${real}`,
        }))
    }),
  )
}

const exportedNames = ({ program }: ParsedFile): string[] =>
  (program.body as Node[])
    .filter(({ type, exportKind }) => type === 'ExportNamedDeclaration' && exportKind !== 'type')
    .flatMap(({ declaration, specifiers }) => [
      ...declared(declaration as Node | null),
      ...(specifiers as Node[]).map(({ exported }) => (exported as { name: string }).name),
    ])

function declared(declaration: Node | null): string[] {
  if (declaration === null) return []
  const named = [declaration, ...((declaration.declarations as Node[] | undefined) ?? [])]
  return named.flatMap(({ id }) => (id as { name?: string } | undefined)?.name ?? [])
}

/** By its text, because a command imports much of it only when it needs it. */
const isImported = (name: string, { path }: ParsedFile, files: readonly ParsedFile[]): boolean =>
  files.some(
    file =>
      file.path.startsWith('src/') &&
      file.path !== path &&
      file.imports.some(({ specifier }) => posix.basename(specifier) === posix.basename(path)) &&
      new RegExp(`\\b${name}\\b`).test(file.text),
  )
