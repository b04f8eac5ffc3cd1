import { keyFileAddresses } from '#wallet/keys/key-file.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { AgentDesks } from './agent-desks.ts'
import { type FoundWallet, openCore } from './open-core.ts'
import type { AgentSettings } from './settings/settings.ts'
import {
  baseUrlOf,
  isServiceNamed,
  journalUrlOf,
  nodesOf,
  payeesNamed,
  policyOf,
  stateFolderOf,
} from './settings/wallet-settings.ts'
import { environmentKeys, folderKeys } from './wallet/wallet-keys.ts'
import type { WalletPlace } from './words/as-typed.ts'
import { ofWallet } from './words/explain.ts'
import { typedWords } from './words/typed-words.ts'

/**
 * An agent from an environment's settings; the passphrase opens an encrypted wallet, where there is one. A wallet that it
 * does not open is refused, or with `mayStayLocked` told by whatever needs it: what is free needs no wallet.
 */
export async function createDesks(
  settings: AgentSettings,
  passphrase: string | null,
  { mayStayLocked = false } = {},
): Promise<AgentDesks> {
  const { env, apiKey, vendor, outputFolder } = settings
  const [baseUrl, stateFolder] = [baseUrlOf(env), stateFolderOf(env)]
  const policy = policyOf(env, { payees: payeesNamed(settings.payee) })
  const finding = findWallet(settings, passphrase)
  const place = { folder: stateFolder, isJournalShared: journalUrlOf(env) !== undefined }
  const found = await inOurWords(place, mayStayLocked ? finding.catch(error => locked(stateFolder, error)) : finding)
  const core = await openCore(
    {
      ...{
        baseUrl,
        apiKey,
        nodes: nodesOf(env),
        vendor,
        outputFolder,
        stateFolder,
        journalUrl: journalUrlOf(env),
        policy,
      },
      secretFiles: filesNamed(env),
    },
    { ...found, isServiceNamed: isServiceNamed(env), isBundle: settings.bundle !== undefined },
  )
  return new AgentDesks(core)
}

/** Keys of the environment win over an API key, and that one over the keys of the folder. */
async function findWallet({ env, apiKey }: AgentSettings, passphrase: string | null): Promise<FoundWallet> {
  const keys = await environmentKeys(env)
  if (keys.length > 0 || apiKey) return { keys }
  return folderKeys(stateFolderOf(env), baseUrlOf(env), passphrase)
}

/** Throws the error where it is not about an encrypted key. */
function locked(folder: string, error: unknown): FoundWallet {
  const [address] = keyFileAddresses(folder) ?? []
  if (!(error instanceof WalletRefusal) || error.rule !== 'key' || address === undefined) throw error
  return { lockedWallet: address, lockedBecause: error }
}

const inOurWords = <Value>(place: WalletPlace, work: Promise<Value>): Promise<Value> =>
  work.catch(error => {
    throw error instanceof WalletRefusal ? typedWords(ofWallet(error), place) : error
  })

/** Variables whose names end with `_FILE` name files that hold secrets, of other programs of this environment too. */
const filesNamed = (env: AgentSettings['env']): string[] =>
  Object.entries(env).flatMap(([name, value]) => (/_FILE$/.test(name) && value ? [value] : []))
