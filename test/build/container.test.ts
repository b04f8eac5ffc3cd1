/** The files in deploy/ and their page match the code, as far as that shows without a container. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig } from '#service/config/read-config.ts'
import { drainMs } from '#service/http/listener.ts'
import { blocksOf, root } from '../docs/pages.ts'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const dockerfile = read('deploy/Dockerfile')
const { services, networks } = parse(read('deploy/compose.yaml'))
const service = services.farebox
const first = read('deploy/farebox.yaml')
const page = read('docs/operations/containers.md')
const { bin, devDependencies, peerDependencies, files } = JSON.parse(read('package.json'))

test('the image has the Node that package.json pins, and runs the package’s command as an ordinary user', () => {
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)
  const [major] = devDependencies.node.split('.')
  expect(bases).toEqual([`node:${major}-bookworm-slim`, 'base', 'base', 'base'])
  expect(page).toContain(`Node ${major},`)
  expect(dockerfile).toContain(`"/app/${bin.farebox}"]\nCMD ["serve"]`)
  expect(dockerfile.match(/^USER .*/gm)).toEqual(['USER 1000:1000'])
})

test('the image has each optional package, but those of the demo and of a desktop', () => {
  const names = /ARG PACKAGES="(.*)"/.exec(dockerfile)?.[1]?.split(' ') ?? []
  const left = ['@foundry-rs/anvil', '@napi-rs/keyring', 'litesvm']
  expect([...names, ...left].sort()).toEqual(Object.keys(peerDependencies).sort())
  for (const name of names) expect(page).toContain(`\`${name}\``)
})

test('the build gets each folder and file of the package', () => {
  const allowed = read('.dockerignore').match(/(?<=^!).*/gm) ?? []
  const needed = (files as string[]).filter(name => !/^!|^dist$|\.md$/.test(name))
  expect(allowed).toEqual(expect.arrayContaining([...needed, '*.md', '*.json']))
  // Folders of a clone with secrets.
  for (const name of ['deploy', '.farebox', '.git']) expect(allowed).not.toContain(name)
})

test('its first configuration is valid, and listens and stores where the other files expect it', () => {
  const { file } = readConfig(first, {})
  expect(file.listen.host).toBe('0.0.0.0')
  const { port } = file.listen
  expect(dockerfile).toContain(`EXPOSE ${port}\n`)
  expect(dockerfile).toContain(`fetch('http://127.0.0.1:${port}/readyz')`)
  expect(service.ports).toEqual([`127.0.0.1:${port}:${port}`])
  expect(dockerfile).toContain(`VOLUME ${file.data}\n`)
  expect(dockerfile).toContain('FAREBOX_CONFIG=/config/farebox.yaml\n')
  expect(service.volumes).toEqual(expect.arrayContaining([`data:${file.data}`, './config:/config']))
})

test('its other settings are valid too, and are those of the other files', () => {
  const all = first.replaceAll(/^# (\w+: )/gm, '$1')
  const postgres = parse(read('deploy/compose.postgres.yaml')).services.farebox.environment
  const { file } = readConfig(all, { DATABASE_URL: 'postgres://farebox:p@postgres:5432/farebox' })
  const [{ subnet }] = networks.default.ipam.config
  expect([file.trustedProxies, file.database]).toEqual([[subnet], expect.stringContaining('@postgres:')])
  expect(page).toContain(`trustedProxies: [${subnet}]`)
  for (const name of Object.keys(postgres).filter(each => each.endsWith('_FILE')))
    expect(all).toContain(`\${${name.slice(0, -'_FILE'.length)}}`)
})

test('the command without Compose limits the container in the same way', () => {
  const command = blocksOf('docs/operations/containers.md').find(({ text }) => text.includes('docker run'))?.text
  const seconds = Number.parseInt(service.stop_grace_period, 10)
  // Answers, then charges.
  expect(seconds * 1_000).toBeGreaterThan(2 * drainMs)
  expect(service).toMatchObject({ init: true, read_only: true, cap_drop: ['ALL'], tmpfs: ['/tmp'] })
  expect(service.security_opt).toEqual(['no-new-privileges:true'])
  for (const flag of [
    ...[`--stop-timeout ${seconds} `, '--init', '--read-only', '--tmpfs /tmp', '--cap-drop all', 'no-new-privileges'],
    ...[`--publish ${service.ports[0]}`, `--add-host ${service.extra_hosts[0]}`],
  ])
    expect(command).toContain(flag)
})
