import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, posix } from 'node:path'
import { promisify } from 'node:util'
import { doors } from './entries.ts'

/** Writes the doors' declarations to `types` in `dist`, with specifiers that resolve inside the package, and no others. */
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
  if (inTheWay.length === 0) for (const door of Object.values(doors)) await show(declarationOf(door), [])
  // A private file may have types that no declaration can name; one that is shown may not.
  const serious = complaints.filter(({ path }) => path === null || shown.has(declarationOf(path)))
  if (serious.length > 0) {
    throw new Error(`The declarations cannot be written:\n${serious.map(({ line }) => line).join('\n')}`)
  }
  for (const path of globSync('**/*.d.ts', { cwd: types })) {
    if (!shown.has(path.replaceAll('\\', posix.sep))) await rm(join(types, path))
  }
}

interface Complaint {
  /** From the root; null where no file of ours is to blame. */
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
    // Further lines of a complaint are indented.
    const lines = (stdout || message).split('\n').filter(line => /^\S/.test(line))
    return lines.map(line => ({ path: /^(\S+?)\(\d+,\d+\): /.exec(line)?.[1]?.replaceAll('\\', '/') ?? null, line }))
  }
}

/** The `imports` of package.json: `#room/*` and where it leads. */
type PackageImports = Readonly<Record<string, string>>

/** A user of the package has these; any other package in a public type would be one that they have to install. */
const PUBLIC_PACKAGES = /^(zod(\/.*)?|node:.*)$/
const SPECIFIER = /((?:\bfrom|\bimport)\s*\(?\s*)(['"])([^'"]+)\2/g

/**
 * A declaration with the specifiers of a published package: `'#contract/money.ts'` becomes `'../contract/money.js'`.
 * `way` are the declarations that lead to it, itself at the end; `leadsTo` are those that it needs. Throws where a type of
 * a foreign package is shown.
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

/** The file that is meant, from the root; undefined for a package that may be shown. */
function targetOf(way: readonly string[], specifier: string, imports: PackageImports): string | undefined {
  const path = way.at(-1) ?? ''
  if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier)
  if (!specifier.startsWith('#')) {
    if (PUBLIC_PACKAGES.test(specifier)) return undefined
    throw new Error(`${way.join(' → ')} shows a type of ${specifier}: say it in words of our own, or of zod`)
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
 * A declaration without the references of its comments to documents that users do not have: a remark such as
 * `(brief §2.6)`, and one that a sentence begins with. Throws the line where another one is left, because what it says has
 * to be said in words that stand alone.
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
