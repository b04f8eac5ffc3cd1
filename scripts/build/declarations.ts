import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, posix } from 'node:path'
import { promisify } from 'node:util'

interface PackageJson {
  imports: Record<string, string>
}

/** A user of the package has these; any other package in a public type would be one that they have to install. */
const PUBLIC_PACKAGES = /^(zod(\/.*)?|node:.*)$/

/** Writes the doors' declarations to `dist/types`, with specifiers that resolve inside the package. */
export async function declarations(root: string): Promise<void> {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  await promisify(execFile)(process.execPath, [tsc, '-p', join(root, 'tsconfig.types.json')], { cwd: root }).catch(
    (error: { stdout?: string; message: string }) => {
      throw new Error(`The declarations cannot be written:\n${error.stdout || error.message}`)
    },
  )
  const { imports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as PackageJson
  const types = join(root, 'dist/types')
  for (const path of globSync('**/*.d.ts', { cwd: types })) {
    const at = join(types, path)
    const text = await readFile(at, 'utf8')
    await writeFile(at, resolveSpecifiers(path.replaceAll('\\', '/'), text, imports))
  }
}

/** `'#contract/money.ts'` becomes `'../contract/money.js'`, whose declaration stands beside it. */
export function resolveSpecifiers(path: string, text: string, imports: PackageJson['imports']): string {
  return text.replaceAll(
    /((?:from|import)\s*\(?\s*)(['"])([^'"]+)\2/g,
    (_whole, before: string, quote: string, specifier: string) =>
      `${before}${quote}${resolveSpecifier(path, specifier, imports)}${quote}`,
  )
}

function resolveSpecifier(path: string, specifier: string, imports: PackageJson['imports']): string {
  if (specifier.startsWith('.')) return specifier.replace(/\.ts$/, '.js')
  if (!specifier.startsWith('#')) {
    if (PUBLIC_PACKAGES.test(specifier)) return specifier
    throw new Error(`${path} shows a type of ${specifier}: say it in words of our own, or of zod`)
  }
  const [room = '', ...rest] = specifier.split('/')
  const target = imports[`${room}/*`]?.replace('*', rest.join('/'))
  if (target === undefined) throw new Error(`${path} imports ${specifier}, which package.json does not map`)
  const relative = posix.relative(posix.dirname(path), posix.normalize(target)).replace(/\.ts$/, '.js')
  return relative.startsWith('.') ? relative : `./${relative}`
}
