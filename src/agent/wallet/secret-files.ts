import { keyFileName } from '#wallet/keys/key-file.ts'
import { localKeyFileName } from '#wallet/keys/local-key-file.ts'
import { stateFileName } from '#wallet/records/state.ts'
import { httpTokenFileName } from '../loopback/http-token.ts'

/** The files of a wallet's folder that its owner alone may read, by their names in it. */
export const secretFileNames = [keyFileName, localKeyFileName, httpTokenFileName, stateFileName] as const
