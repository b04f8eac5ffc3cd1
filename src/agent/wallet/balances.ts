import { microUsd } from '#contract/money.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import type { SeenAmount, WalletView } from '#toolkit/tool-context.ts'
import { lookAtChain, type WhyUnseen } from '#wallet/chains/look-at-chain.ts'
import { nodesInUse, tokenNamesIn } from '#wallet/chains/nodes.ts'
import { lookTimeoutMs, noNode } from '#wallet/limits.ts'
import { namespaceOf, railOf } from '#wallet/rules/policy.ts'
import type { AgentContext } from '../context.ts'

/** What the wallet's addresses hold on their chains. Bounded, and never throws: what is not known says why. */
export class Balances {
  readonly #agent: AgentContext
  readonly #known = new Map<string, SeenAmount>()

  constructor(agent: AgentContext) {
    this.#agent = agent
  }

  async look(addresses: readonly string[]): Promise<WalletView['onChain']> {
    const { policy, nodes: given, client, clock } = this.#agent
    const { origin } = client.address
    const tokenNames = await this.#tokenNames()
    const nodes = nodesInUse(given, { origin, rails: policy.rails, tokenNames: tokenNames ?? [null] })
    return Promise.all(
      addresses.flatMap(address => {
        const rail = railOf(policy, address)
        if (!rail) return []
        const whyNoNode = this.#whyNoNode(address, tokenNames)
        return [
          lookAtChain(nodes, rail, address).then(({ balance, why }) => {
            const place = { network: rail.network, address }
            if (balance === null) return { ...place, ...this.#lastOf(address, words(why, whyNoNode)) }
            const seen = { amountMicroUsd: microUsd(balance), atMs: clock.now(), unknown: null }
            this.#known.set(address, seen)
            return { ...place, ...seen }
          }),
        ]
      }),
    )
  }

  /** What was seen last is worth more than nothing. */
  #lastOf(address: string, unknown: string): SeenAmount {
    return this.#known.get(address) ?? { amountMicroUsd: null, atMs: null, unknown }
  }

  /** Null where the service does not say; of this machine's it does not matter. */
  async #tokenNames(): Promise<readonly unknown[] | null> {
    const { client, topUps } = this.#agent
    if (isLoopback(new URL(client.address.origin).hostname)) return []
    const offer = await topUps.offer(AbortSignal.timeout(lookTimeoutMs)).catch(() => null)
    return offer && tokenNamesIn(offer.accepts)
  }

  #whyNoNode(address: string, tokenNames: readonly unknown[] | null): string {
    const { nodes, client } = this.#agent
    if (nodes[namespaceOf(address)] === noNode) return 'a setting says that no node is asked'
    if (isLoopback(new URL(client.address.origin).hostname))
      return 'the service is on this machine, and no node of its chain is named'
    return tokenNames === null
      ? 'the service did not say which token it takes'
      : 'the service takes another token than the network’s own USDC'
  }
}

const words = (why: WhyUnseen | null, whyNoNode: string): string =>
  why === 'no node'
    ? whyNoNode
    : why === 'another chain'
      ? 'the node is one of another chain'
      : 'the node of the chain did not answer'
