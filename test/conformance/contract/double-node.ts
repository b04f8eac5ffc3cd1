import type { ChainNetwork } from '#engines/ports/engine.ts'

const refusal = { code: -32_602, message: 'invalid params' }

/** A network that knows one method and refuses the others, and one that never answers. */
export const doubleNetworks: readonly ChainNetwork[] = [
  {
    slug: 'double',
    node: {
      ask: async ({ calls }) =>
        calls.map(({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : { error: refusal })),
    },
  },
  { slug: 'failing', node: { ask: () => Promise.reject(new Error('The node is away.')) } },
]
