import type { FailedTransactionMetadata } from 'litesvm'

/** How a node writes why a transaction failed. */
export type TransactionError = string | Readonly<Record<string, unknown>>

/** In the order of their numbers in litesvm. */
const transactionErrors = [
  ...['AccountInUse', 'AccountLoadedTwice', 'AccountNotFound', 'ProgramAccountNotFound', 'InsufficientFundsForFee'],
  ...['InvalidAccountForFee', 'AlreadyProcessed', 'BlockhashNotFound', 'CallChainTooDeep', 'MissingSignatureForFee'],
  ...['InvalidAccountIndex', 'SignatureFailure', 'InvalidProgramForExecution', 'SanitizeFailure', 'ClusterMaintenance'],
  ...['AccountBorrowOutstanding', 'WouldExceedMaxBlockCostLimit', 'UnsupportedVersion', 'InvalidWritableAccount'],
  ...['WouldExceedMaxAccountCostLimit', 'WouldExceedAccountDataBlockLimit', 'TooManyAccountLocks'],
  ...['AddressLookupTableNotFound', 'InvalidAddressLookupTableOwner', 'InvalidAddressLookupTableData'],
  ...['InvalidAddressLookupTableIndex', 'InvalidRentPayingAccount', 'WouldExceedMaxVoteCostLimit'],
  ...['WouldExceedAccountDataTotalLimit', 'MaxLoadedAccountsDataSizeExceeded', 'ResanitizationNeeded'],
  ...['InvalidLoadedAccountsDataSizeLimit', 'UnbalancedTransaction', 'ProgramCacheHitMaxLimit', 'CommitCancelled'],
]

const instructionErrors = [
  ...['GenericError', 'InvalidArgument', 'InvalidInstructionData', 'InvalidAccountData', 'AccountDataTooSmall'],
  ...['InsufficientFunds', 'IncorrectProgramId', 'MissingRequiredSignature', 'AccountAlreadyInitialized'],
  ...['UninitializedAccount', 'UnbalancedInstruction', 'ModifiedProgramId', 'ExternalAccountLamportSpend'],
  ...['ExternalAccountDataModified', 'ReadonlyLamportChange', 'ReadonlyDataModified', 'DuplicateAccountIndex'],
  ...['ExecutableModified', 'RentEpochModified', 'NotEnoughAccountKeys', 'AccountDataSizeChanged'],
  ...['AccountNotExecutable', 'AccountBorrowFailed', 'AccountBorrowOutstanding', 'DuplicateAccountOutOfSync'],
  ...['InvalidError', 'ExecutableDataModified', 'ExecutableLamportChange', 'ExecutableAccountNotRentExempt'],
  ...['UnsupportedProgramId', 'CallDepth', 'MissingAccount', 'ReentrancyNotAllowed', 'MaxSeedLengthExceeded'],
  ...['InvalidSeeds', 'InvalidRealloc', 'ComputationalBudgetExceeded', 'PrivilegeEscalation'],
  ...['ProgramEnvironmentSetupFailure', 'ProgramFailedToComplete', 'ProgramFailedToCompile', 'Immutable'],
  ...['IncorrectAuthority', 'AccountNotRentExempt', 'InvalidAccountOwner', 'ArithmeticOverflow', 'UnsupportedSysvar'],
  ...['IllegalOwner', 'MaxAccountsDataAllocationsExceeded', 'MaxAccountsExceeded'],
  ...['MaxInstructionTraceLengthExceeded', 'BuiltinProgramsMustConsumeComputeUnits', 'BorshIoError'],
]

export function transactionError(failed: FailedTransactionMetadata): TransactionError {
  const error = failed.err()
  if (typeof error === 'number') return transactionErrors[error] ?? `TransactionError${error}`
  if (!('err' in error)) return { [error.constructor.name.replace(/^TransactionError/, '')]: {} }
  const inner = error.err()
  if (typeof inner === 'number') return { InstructionError: [error.index, instructionErrors[inner] ?? inner] }
  return { InstructionError: [error.index, 'code' in inner ? { Custom: inner.code } : 'BorshIoError'] }
}

/** Where a transaction got as far as its instructions its fee has been paid and its signature is spent. */
export const hasPaidItsFee = (error: TransactionError): boolean =>
  typeof error !== 'string' && 'InstructionError' in error
