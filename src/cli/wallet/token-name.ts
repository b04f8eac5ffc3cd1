import { evmNetwork, normalizeWallet, solanaNetwork, usdcOnEvm, usdcOnSolana } from '#contract/wire/networks.ts'

const known = [
  { network: evmNetwork, asset: normalizeWallet(usdcOnEvm), name: 'USDC on Base' },
  { network: solanaNetwork, asset: usdcOnSolana, name: 'USDC on Solana' },
]

/** The two tokens that everybody knows by their names; of any other the whole address, because anybody may call one USDC. */
export const tokenName = ({ network, asset }: { network: string; asset: string }): string =>
  known.find(token => token.network === network && token.asset === normalizeWallet(asset))?.name ??
  `the token ${asset} on ${network}`
