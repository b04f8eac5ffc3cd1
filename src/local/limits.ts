/** Anvil answers within 140 ms here; a cold disk or a large saved state may take seconds. */
export const CHAIN_START_TIMEOUT_MS = 15_000

/** A stop first writes the whole state. */
export const CHAIN_STOP_TIMEOUT_MS = 15_000

/** Timeout of a call to a chain on loopback; a longer silence means that it hangs. */
export const CHAIN_RPC_TIMEOUT_MS = 5_000

/** Poll interval while a chain starts or stops; short, because the user waits for it. */
export const CHAIN_POLL_MS = 15

/** Another program may take the port between our choosing it and anvil binding it. */
export const PORT_ATTEMPTS = 5

/** How much a killed anvil may lose; the shortest interval that anvil supports. A clean stop loses nothing. */
export const STATE_INTERVAL_S = 1

/**
 * An idle chain still gets a block this often: calls see the time of the latest block, and older payment clients sign
 * for "from ten minutes ago on".
 */
export const REST_BLOCK_INTERVAL_S = 240

/** Only the latest state is used; without this limit anvil keeps one per block and spills them to the home folder. */
export const KEPT_STATES = 64

/** How much of anvil's log an error quotes. */
export const LOG_EXCERPT_CHARACTERS = 300

/** Longest token name: it is in every payment requirement and is signed; real ones have under 30 characters. */
export const TOKEN_NAME_CHARACTERS = 64

/** A billion test dollars at once: more than any test needs, far below what the token can count. */
export const MINT_MICRO_USD = 1_000_000_000_000_000n

/** Two processes that mint at once may pick the same transaction number; the refused one tries again. */
export const MINT_ATTEMPTS = 20

/** ETH for gas for keys on the local chain: thousands of settlements. */
export const FUNDED_ETH = 10n

/** SOL for the account that pays fees: hundreds of thousands of settlements. */
export const FUNDED_LAMPORTS = 10_000_000_000

/** How often the Solana chain checks whether its folder still exists. */
export const FOLDER_LOOK_MS = 10_000
