/** What others wrote and is installed with ours: from where, with which bytes, and what of it runs by being installed. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface Locked {
  version?: string
  resolved?: string
  integrity?: string
  link?: boolean
  dev?: boolean
  hasInstallScript?: boolean
}

const read = (path: string) => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'))
const lock: { packages: Record<string, Locked> } = read('package-lock.json')
const packages = Object.entries(lock.packages).filter(([path, { link }]) => path !== '' && !link)
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

/** Of a package whose address the lock file leaves out, too. */
const registry = 'https://registry.npmjs.org/'

/** The test chain's programs for machines on which the lock file was not made; `npm ci` there takes them by their version. */
const unhashed = ['darwin-amd64', 'darwin-arm64', 'linux-arm64', 'win32-amd64'].map(
  machine => `node_modules/@foundry-rs/anvil-${machine}`,
)

test('G16: every package comes from the registry, with the hash of its bytes', () => {
  const others = packages.filter(
    ([, { resolved, integrity }]) => !(resolved ?? registry).startsWith(registry) || !integrity?.startsWith('sha512-'),
  )
  expect(others.map(([path]) => path).filter(path => !unhashed.includes(path))).toEqual([])
  expect(packages.length).toBeGreaterThan(100)
})

test('G16: a package that wants to run by being installed is known, and one alone may', () => {
  const { allowScripts } = read('package.json')
  const wanting = packages.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => nameOf(path))
  expect([...new Set(wanting)].sort()).toEqual(['@foundry-rs/anvil', 'node', 'node-av', 'secp256k1'])
  expect(Object.keys(allowScripts).filter(name => allowScripts[name])).toEqual(['node'])
})

test('G16: whoever installs farebox gets one package with it, of one version, and nothing runs', () => {
  const { dependencies, optionalDependencies, scripts } = read('package.json')
  expect([Object.keys(dependencies), optionalDependencies]).toEqual([['zod'], undefined])
  for (const version of Object.values(dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/)
  for (const script of ['preinstall', 'install', 'postinstall']) expect(scripts).not.toHaveProperty(script)
  expect(lock.packages['node_modules/zod']?.hasInstallScript).toBeUndefined()
})

test('G16: the check from a clean clone installs what the lock file says, and nothing newer', () => {
  const steps = readFileSync(new URL('../../.ci/run', import.meta.url), 'utf8')
  expect(steps).toContain('npm ci')
  expect(steps).not.toMatch(/npm (install|i|update)\b/)
})
