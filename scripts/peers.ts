import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPeers } from '../bench/kit/install.ts'
import { engines, frameworks, gatewayOverrides, gateways, llama, nodes, protocol } from './peers/packages.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

/**
 * Installs optional packages that together are several times the size of farebox, at the tested releases. They are
 * neither in the lock file nor installed by `npm ci`. Each is in a folder of its own, because npm would remove other
 * packages beside it, and is linked from there.
 */
function install(name: string, releases: Record<string, string>, options: readonly string[]): void {
  const folder = join(root, '.peers', name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: releases }))
  const usual = ['--no-audit', '--no-fund', '--ignore-scripts']
  const shell = process.platform === 'win32'
  const { status } = spawnSync('npm', ['install', ...usual, ...options], { cwd: folder, stdio: 'inherit', shell })
  if (status !== 0) process.exit(1)
  for (const each of Object.keys(releases)) link(each, join(folder, 'node_modules', each))
}

function link(name: string, target: string): void {
  const at = join(root, 'node_modules', name)
  if (existsSync(at)) return
  rmSync(at, { force: true })
  mkdirSync(dirname(at), { recursive: true })
  symlinkSync(target, at, 'junction')
}

// Their own peers are whole frameworks that are not needed here.
install('engines', engines, ['--legacy-peer-deps'])
install('llama', llama, ['--omit=optional'])
install('protocol', protocol, [])
install('frameworks', frameworks, [])
if (process.platform === 'linux' && process.arch === 'x64') install('nodes', nodes, [])
await installPeers('gateways', gateways, gatewayOverrides)
