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
import { walletReportMs, walletWaitMs } from '../bounds.ts'
import { canAsk } from './elicitation.ts'

/** The name of the request by which a wallet is offered. */
const KEY = 'wallet'

/** Whether the client can be asked at all; else no page is opened, and the service is not asked whom it wants paid. */
export const canOffer = (context: ServerContext, declared: ClientCapabilities | undefined): boolean =>
  opensLinks(context, declared) || canAsk(context, declared)

/** The link as the client opens it by itself, or within a form. No passphrase is ever asked in a form. */
export function asOffer(
  { link, asks }: WalletOffer,
  context: ServerContext,
  declared: ClientCapabilities | undefined,
): Record<string, InputRequest> {
  if (opensLinks(context, declared)) return { [KEY]: inputRequired.elicitUrl({ message: asks, url: link }) }
  const message = `${asks}\n\nOpen this link in a browser on this machine. It works once:\n${link}`
  const done = { type: 'boolean' as const, title: 'I have made the wallet on that page.', default: false }
  return { [KEY]: inputRequired.elicit({ message, requestedSchema: { type: 'object', properties: { done } } }) }
}

function opensLinks(context: ServerContext, declared: ClientCapabilities | undefined): boolean {
  const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {}
  const said = (envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined) ?? declared
  return said?.elicitation !== undefined && 'url' in said.elicitation
}

/**
 * Waits for the user, who has agreed to open the page, to be done there, as long as a client waits for a call. False where
 * they did not agree.
 */
export async function waitForWallet(
  host: ToolHost,
  context: ServerContext,
  report: ToolContext['report'],
): Promise<boolean> {
  const response = inputResponse(context.mcpReq.inputResponses, KEY)
  if (response.kind !== 'elicit' || response.action !== 'accept') return false
  const telling = setInterval(() => report({ message: 'Waiting for the wallet on the page' }), walletReportMs)
  try {
    await host.walletMade?.(walletWaitMs, context.mcpReq.signal)
    return true
  } finally {
    clearInterval(telling)
  }
}

/** The call ended before the user did. */
export const stillOpen = (facts: FailureFacts): FailureFacts => ({
  ...facts,
  next: 'The page on which the user makes the wallet is open in their browser. Wait until the user says that it is done, then repeat the call.',
})
