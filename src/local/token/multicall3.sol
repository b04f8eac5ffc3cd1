// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The two ways of asking several contracts at once that payment software uses, at the address where it expects them.
contract Multicall3 {
    struct Call {
        address target;
        bytes callData;
    }

    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 index = 0; index < calls.length; index++) {
            results[index] = ask(calls[index].target, calls[index].callData, !calls[index].allowFailure);
        }
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 index = 0; index < calls.length; index++) {
            results[index] = ask(calls[index].target, calls[index].callData, requireSuccess);
        }
    }

    function ask(address target, bytes calldata callData, bool mustSucceed) private returns (Result memory result) {
        (result.success, result.returnData) = target.call(callData);
        require(result.success || !mustSucceed, "Multicall3: call failed");
    }
}
