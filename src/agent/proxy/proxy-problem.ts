import { ToolFailure } from '#toolkit/tool-failure.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'

/** Why the proxy does not start, for the person at the terminal. */
export class ProxyProblem extends Error {
  override readonly name = 'ProxyProblem'
  readonly nextStep: string

  constructor(sentence: string, nextStep: string, cause?: unknown) {
    super(sentence, { cause })
    this.nextStep = nextStep
  }
}

/** What keeps the proxy from its start, where a person can mend it; anything else as it is. */
export function asProxyProblem(error: unknown, port: number): unknown {
  if (error instanceof ToolFailure) return new ProxyProblem(error.facts.happened, error.facts.next, error)
  if (error instanceof WalletRefusal) return new ProxyProblem(error.sentence, error.nextStep, error)
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return error
  return new ProxyProblem(
    `The port ${port} is taken.`,
    'Choose another one by --port, or end what listens there.',
    error,
  )
}

/** Every bound of the proxy, with its unit and why that number. */

/** Where it listens unless told. */
export const proxyPort = 8403
/** Of a token of ours. */
export const tokenBytes = 24

/** How long running answers may go on when the proxy is stopped. */
export const proxyDrainMs = 5_000
