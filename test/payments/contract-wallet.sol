// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A wallet whose owner signs for it, and some that misbehave. Its code is put at an address without a constructor.
contract ContractWallet {
    address public owner;
    uint256 public mode;

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes32) {
        bytes4 yes = this.isValidSignature.selector;
        if (mode == 1) revert("no");
        if (mode == 2) burn(type(uint256).max);
        if (mode == 3 && msg.sender.code.length > 0) burn(1_200_000);
        if (mode == 4) return bytes32(bytes4(0xffffffff));
        if (mode == 5) return bytes32(yes) | bytes32(uint256(1));
        if (signature.length < 65) return 0;
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        return ecrecover(digest, uint8(signature[64]), r, s) == owner ? bytes32(yes) : bytes32(0);
    }

    function burn(uint256 gas) private view {
        uint256 start = gasleft();
        while (start - gasleft() < gas) {}
    }
}
