import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequest,
  inputRequired,
  inputResponse,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { ToolContext } from '#toolkit/tool-context.ts'
import type { FailureFacts } from '#toolkit/tool-failure.ts'
import type { ToolHost, WalletOffer } from '#toolkit/tool-host.ts'
import { waitReportMs, walletWaitMs } from '../bounds.ts'
import { canAsk } from './elicitation.ts'

/** The name of the request that offers a wallet. */
const KEY = 'wallet'

/** Whether the client can be asked at all. If not, no page is opened, and the service is not asked for its payees. */
export const canOffer = (context: ServerContext, declared: ClientCapabilities | undefined): boolean =>
  opensLinks(context, declared) || canAsk(context, declared)

/** Returns the link, which the client opens itself or shows in a form. A form never asks for a passphrase. */
export function asOffer(
  { link, asks }: WalletOffer,
  context: ServerContext,
  declared: ClientCapabilities | undefined,
): Record<string, InputRequest> {
  if (opensLinks(context, declared)) return { [KEY]: inputRequired.elicitUrl({ message: asks, url: link }) }
  const message = `${asks}\n\nOpen this link in a browser on this machine. It works once:\n${link}`
  const done = { type: 'boolean' as const, title: 'I have created the wallet on that page.', default: false }
  return { [KEY]: inputRequired.elicit({ message, requestedSchema: { type: 'object', properties: { done } } }) }
}

function opensLinks(context: ServerContext, declared: ClientCapabilities | undefined): boolean {
  const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {}
  const said = (envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined) ?? declared
  return said?.elicitation !== undefined && 'url' in said.elicitation
}

/**
 * Waits until the user is done on the page, at most as long as a client waits for a call. Returns false if they did not
 * agree to open it.
 */
export async function waitForWallet(
  host: ToolHost,
  context: ServerContext,
  report: ToolContext['report'],
): Promise<boolean> {
  const response = inputResponse(context.mcpReq.inputResponses, KEY)
  if (response.kind !== 'elicit' || response.action !== 'accept') return false
  const telling = setInterval(() => report({ message: 'Waiting for the wallet on the page' }), waitReportMs)
  try {
    await host.walletMade?.(walletWaitMs, context.mcpReq.signal)
    return true
  } finally {
    clearInterval(telling)
  }
}

/** The call ended before the user was done. */
export const stillOpen = (facts: FailureFacts): FailureFacts => ({
  ...facts,
  next: 'The page on which the user creates the wallet is open in their browser. Wait until the user says that it is done, then repeat the call.',
})
