import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { OutputChunk } from 'rolldown'

interface Manifest {
  name: string
  version: string
  license?: string
}

/** A package whose code is part of the bundle. */
interface BundledPackage extends Manifest {
  folder: string
}

/** Returns every package with code in the chunks, by its folder. */
export async function bundledPackages(chunks: readonly OutputChunk[]): Promise<BundledPackage[]> {
  const folders = new Set(chunks.flatMap(({ moduleIds }) => moduleIds).flatMap(path => packageFolder(path) ?? []))
  return Promise.all([...folders].sort().map(async folder => ({ ...(await manifestOf(folder)), folder })))
}

const manifestOf = async (folder: string) =>
  JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest

function packageFolder(path: string): string | undefined {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path.replaceAll('\\', '/'))?.[1]
}

const RULE = `\n\n${'-'.repeat(80)}\n\n`

/** Returns the licences of all packages in the bundle. A package without a licence fails the build. */
export async function thirdPartyNotice(packages: readonly BundledPackage[]): Promise<string> {
  const notices = await Promise.all(packages.map(notice))
  return `farebox contains the following packages in its bundle.${RULE}${notices.join(RULE)}\n`
}

async function notice({ folder, name, version, license }: BundledPackage): Promise<string> {
  const names = await readdir(folder)
  const files = names.filter(each => /^(licen[cs]e|notice|copying)(\.|-|$)/i.test(each)).sort()
  if (files.length === 0 && !license) throw new Error(`${name} states no licence: leave it out of the bundle`)
  const texts = await Promise.all(files.map(each => readFile(join(folder, each), 'utf8')))
  return [`${name} ${version} (${license ?? 'see below'})`, ...texts.map(text => text.trim())].join('\n\n')
}

/**
 * Writes a software bill of materials in CycloneDX 1.6: the packages in the bundle and those that npm installs with it,
 * each with the hash of the registry's file. It has no date or serial number, so that the same sources give the same
 * file.
 */
export async function billOfMaterials(root: string, bundled: readonly BundledPackage[]): Promise<string> {
  const own = await manifestOf(root)
  const { dependencies = {} } = own as { dependencies?: Record<string, string> }
  const installed = await Promise.all(Object.keys(dependencies).map(name => ofFolder(join(root, 'node_modules', name))))
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as Lock
  const all = new Map([...bundled, ...installed].map(each => [purlOf(each), each]))
  const components = [...all.values()].map(each => component(each, lock.packages[lockPathOf(root, each.folder)]))
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': purlOf(own), ...factsOf(own) } },
    components,
    dependencies: [{ ref: purlOf(own), dependsOn: components.map(each => each['bom-ref']) }],
  }
  return `${JSON.stringify(bill, null, 2)}\n`
}

interface Lock {
  packages: Record<string, { integrity?: string } | undefined>
}

const ofFolder = async (folder: string): Promise<BundledPackage> => ({ ...(await manifestOf(folder)), folder })

/** The folder as the lock file names it. */
const lockPathOf = (root: string, folder: string): string => folder.slice(folder.indexOf('node_modules', root.length))

/** https://github.com/package-url/purl-spec: the scope's `@` is encoded. */
const purlOf = ({ name, version }: Manifest): string => `pkg:npm/${name.replace(/^@/, '%40')}@${version}`

const factsOf = ({ name, version, license }: Manifest) => ({
  name,
  version,
  purl: purlOf({ name, version }),
  ...(license
    ? { licenses: [/ (OR|AND) /.test(license) ? { expression: license } : { license: { id: license } }] }
    : {}),
})

function component(each: BundledPackage, locked: { integrity?: string } | undefined) {
  const hash = locked?.integrity?.replace(/^sha512-/, '')
  return {
    type: 'library',
    'bom-ref': purlOf(each),
    ...factsOf(each),
    ...(hash ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }] } : {}),
  }
}
