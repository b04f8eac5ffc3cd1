/** Third-party code that is installed with ours: where it comes from, its hashes, and which of it runs at installation. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

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

test('G16: installing farebox installs one dependency, in one version, and runs no script', () => {
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

const workflows = readdirSync(new URL('../../.github/workflows/', import.meta.url)).map(name => ({
  name,
  text: readFileSync(new URL(`../../.github/workflows/${name}`, import.meta.url), 'utf8'),
}))

test.for(workflows)('G16: $name runs no action that another may replace', ({ text }) => {
  const used = [...text.matchAll(/uses: (\S+)(.*)$/gm)]
  expect(used.length).toBeGreaterThan(0)
  for (const [line] of used) expect(line).toMatch(/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
})

test.for(workflows)('G16: $name may only read, unless a job says otherwise', ({ text }) => {
  const { permissions } = parse(text) as { permissions: unknown }
  expect(permissions).toEqual({ contents: 'read' })
})

test.for(workflows)('$name runs scripts that are there', ({ text }) => {
  const { scripts } = read('package.json')
  const named = [...text.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name)
  expect(named.filter(name => !Object.hasOwn(scripts, name ?? ''))).toEqual([])
})

test('the release is published by a job that alone may do so, with proof of where it was built', () => {
  const { jobs } = parse(workflows.find(({ name }) => name === 'release.yml')?.text ?? '') as {
    jobs: Record<string, { permissions?: object; steps: { run?: string }[] }>
  }
  expect(jobs.build?.permissions).toBeUndefined()
  expect(jobs.publish?.permissions).toEqual({ contents: 'write', 'id-token': 'write' })
  expect(jobs.publish?.steps.map(({ run }) => run ?? '').join()).toContain('--provenance')
})

test('issue forms have what a form needs', () => {
  for (const name of ['bug', 'feature']) {
    const text = readFileSync(new URL(`../../.github/ISSUE_TEMPLATE/${name}.yml`, import.meta.url), 'utf8')
    expect(parse(text)).toMatchObject({
      name: expect.any(String),
      description: expect.any(String),
      body: expect.any(Array),
    })
  }
})
