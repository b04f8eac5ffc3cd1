import { posix } from 'node:path'

/** The `imports` of package.json: `#room/*` and where it leads. */
export type PackageImports = Readonly<Record<string, string>>

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
