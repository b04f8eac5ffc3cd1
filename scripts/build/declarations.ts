import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, posix } from 'node:path'
import { promisify } from 'node:util'
import { packageEntries } from './entries.ts'

/**
 * Writes the declarations of the entry points, and no others, to `types` in `dist`, with specifiers that resolve inside
 * the package.
 */
export async function declarations(root: string, dist: string): Promise<void> {
  const { imports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { imports: PackageImports }
  const types = join(dist, 'types')
  const complaints = await emit(root, types)
  const shown = new Set<string>()
  const show = async (path: string, from: readonly string[]): Promise<void> => {
    if (shown.has(path)) return
    shown.add(path)
    const way = [...from, path]
    const { text, leadsTo } = relativeSpecifiers(way, await readFile(join(types, path), 'utf8'), imports)
    await writeFile(join(types, path), publicComments(path, text))
    for (const next of leadsTo) await show(next, way)
  }
  const declarationOf = (path: string): string => path.replace(/\.ts$/, '.d.ts')
  const inTheWay = complaints.filter(({ path }) => path === null)
  if (inTheWay.length === 0) for (const entry of Object.values(packageEntries)) await show(declarationOf(entry), [])
  // A private declaration may have types that cannot be named; a public one may not.
  const serious = complaints.filter(({ path }) => path === null || shown.has(declarationOf(path)))
  if (serious.length > 0) {
    throw new Error(`The declarations cannot be written:\n${serious.map(({ line }) => line).join('\n')}`)
  }
  for (const path of globSync('**/*.d.ts', { cwd: types })) {
    if (!shown.has(path.replaceAll('\\', posix.sep))) await rm(join(types, path))
  }
}

interface Complaint {
  /** Relative to the root; null if none of our files is at fault. */
  path: string | null
  line: string
}

async function emit(root: string, outDir: string): Promise<Complaint[]> {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  const options = { cwd: root, maxBuffer: 64 * 1024 * 1024 }
  try {
    await promisify(execFile)(
      process.execPath,
      [tsc, '-p', join(root, 'tsconfig.types.json'), '--outDir', outDir],
      options,
    )
    return []
  } catch (error) {
    const { stdout, message } = error as { stdout?: string; message: string }
    // Further lines of a message are indented.
    const lines = (stdout || message).split('\n').filter(line => /^\S/.test(line))
    return lines.map(line => ({ path: /^(\S+?)\(\d+,\d+\): /.exec(line)?.[1]?.replaceAll('\\', '/') ?? null, line }))
  }
}

/** The `imports` of package.json: `#room/*` and its target. */
type PackageImports = Readonly<Record<string, string>>

/** Users of the package have these; any other package in a public type is one that they would have to install. */
const PUBLIC_PACKAGES = /^(zod(\/.*)?|node:.*)$/
const SPECIFIER = /((?:\bfrom|\bimport)\s*\(?\s*)(['"])([^'"]+)\2/g

/**
 * Rewrites a declaration's specifiers for the published package: `'#contract/money.ts'` becomes
 * `'../contract/money.js'`. `way` are the declarations that lead to it, ending with itself; `leadsTo` are those that it
 * needs. Throws if a third-party type is public.
 */
export function relativeSpecifiers(way: readonly string[], text: string, imports: PackageImports) {
  const path = way.at(-1) ?? ''
  const leadsTo: string[] = []
  const rewritten = text.replaceAll(SPECIFIER, (_whole, before: string, quote: string, specifier: string) => {
    const target = targetOf(way, specifier, imports)
    if (target === undefined) return `${before}${quote}${specifier}${quote}`
    leadsTo.push(target.replace(/\.ts$/, '.d.ts'))
    const relative = posix.relative(posix.dirname(path), target).replace(/\.ts$/, '.js')
    return `${before}${quote}${relative.startsWith('.') ? relative : `./${relative}`}${quote}`
  })
  return { text: rewritten, leadsTo }
}

/** Returns the target file, relative to the root; undefined for a package that may be public. */
function targetOf(way: readonly string[], specifier: string, imports: PackageImports): string | undefined {
  const path = way.at(-1) ?? ''
  if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier)
  if (!specifier.startsWith('#')) {
    if (PUBLIC_PACKAGES.test(specifier)) return undefined
    throw new Error(`${way.join(' → ')} shows a type of ${specifier}: use one of our own, or of zod`)
  }
  const [room = '', ...rest] = specifier.split('/')
  const target = imports[`${room}/*`]?.replace('*', rest.join('/'))
  if (target === undefined) throw new Error(`${path} imports ${specifier}, which package.json does not map`)
  return posix.normalize(target)
}

const reference = '(?:Brief|Published contract) §[\\d.]*\\d(?:(?:,| and) §[\\d.]*\\d)*'
const ALONE = new RegExp(`[ \\t]*/\\*\\* ${reference}\\. \\*/\\n`, 'g')
const REMARK = / \([^()\n]*(?:\bbrief\b|§)[^()\n]*\)/gi
const BEGINNING = new RegExp(`${reference}[.:;] (.)`, 'g')

/**
 * Removes references in comments to documents that users do not have: a remark such as `(brief §2.6)`, and one at the
 * start of a sentence. Throws the line if another reference is left, because that line must be reworded.
 */
export function publicComments(path: string, text: string): string {
  const stripped = text
    .replaceAll(ALONE, '')
    .replaceAll(REMARK, '')
    .replaceAll(BEGINNING, (_, first: string) => first.toUpperCase())
  for (const [index, line] of stripped.split('\n').entries()) {
    if (/\bbrief\b|§/i.test(line))
      throw new Error(`${path}:${index + 1} names a document that users do not have: ${line.trim()}`)
  }
  return stripped
}
