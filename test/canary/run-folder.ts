import { dirname, join, resolve } from 'node:path'

/** Names the folder that contains all temporary folders of a run. */
export const runFolderVariable = 'FAREBOX_TEST_RUN_FOLDER'

export const setAsideIn = (runFolder: string): string => join(runFolder, 'set-aside')

/** Whether the path is of a temporary folder as a whole. */
export const isTemporaryFolder = (path: string, runFolder: string): boolean => dirname(resolve(path)) === runFolder
