/** Compiled from usdc.sol; written by `npm run generate`. */
export const usdcSourceSha256 = '99d94703700657eea8e551810b37fa154f0db7b69154dbc93b6e8917898f4606'

export const usdcAbi = [
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "internalType": "address",
        "name": "owner",
        "type": "address"
      },
      {
        "indexed": true,
        "internalType": "address",
        "name": "spender",
        "type": "address"
      },
      {
        "indexed": false,
        "internalType": "uint256",
        "name": "value",
        "type": "uint256"
      }
    ],
    "name": "Approval",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "internalType": "address",
        "name": "authorizer",
        "type": "address"
      },
      {
        "indexed": true,
        "internalType": "bytes32",
        "name": "nonce",
        "type": "bytes32"
      }
    ],
    "name": "AuthorizationCanceled",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "internalType": "address",
        "name": "authorizer",
        "type": "address"
      },
      {
        "indexed": true,
        "internalType": "bytes32",
        "name": "nonce",
        "type": "bytes32"
      }
    ],
    "name": "AuthorizationUsed",
    "type": "event"
  },
  {
    "anonymous": false,
    "inputs": [
      {
        "indexed": true,
        "internalType": "address",
        "name": "from",
        "type": "address"
      },
      {
        "indexed": true,
        "internalType": "address",
        "name": "to",
        "type": "address"
      },
      {
        "indexed": false,
        "internalType": "uint256",
        "name": "value",
        "type": "uint256"
      }
    ],
    "name": "Transfer",
    "type": "event"
  },
  {
    "inputs": [],
    "name": "CANCEL_AUTHORIZATION_TYPEHASH",
    "outputs": [
      {
        "internalType": "bytes32",
        "name": "",
        "type": "bytes32"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "DOMAIN_SEPARATOR",
    "outputs": [
      {
        "internalType": "bytes32",
        "name": "",
        "type": "bytes32"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "RECEIVE_WITH_AUTHORIZATION_TYPEHASH",
    "outputs": [
      {
        "internalType": "bytes32",
        "name": "",
        "type": "bytes32"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "TRANSFER_WITH_AUTHORIZATION_TYPEHASH",
    "outputs": [
      {
        "internalType": "bytes32",
        "name": "",
        "type": "bytes32"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "",
        "type": "address"
      },
      {
        "internalType": "address",
        "name": "",
        "type": "address"
      }
    ],
    "name": "allowance",
    "outputs": [
      {
        "internalType": "uint256",
        "name": "",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "spender",
        "type": "address"
      },
      {
        "internalType": "uint256",
        "name": "value",
        "type": "uint256"
      }
    ],
    "name": "approve",
    "outputs": [
      {
        "internalType": "bool",
        "name": "",
        "type": "bool"
      }
    ],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "",
        "type": "address"
      },
      {
        "internalType": "bytes32",
        "name": "",
        "type": "bytes32"
      }
    ],
    "name": "authorizationState",
    "outputs": [
      {
        "internalType": "bool",
        "name": "",
        "type": "bool"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "",
        "type": "address"
      }
    ],
    "name": "balanceOf",
    "outputs": [
      {
        "internalType": "uint256",
        "name": "",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "authorizer",
        "type": "address"
      },
      {
        "internalType": "bytes32",
        "name": "nonce",
        "type": "bytes32"
      },
      {
        "internalType": "uint8",
        "name": "v",
        "type": "uint8"
      },
      {
        "internalType": "bytes32",
        "name": "r",
        "type": "bytes32"
      },
      {
        "internalType": "bytes32",
        "name": "s",
        "type": "bytes32"
      }
    ],
    "name": "cancelAuthorization",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "authorizer",
        "type": "address"
      },
      {
        "internalType": "bytes32",
        "name": "nonce",
        "type": "bytes32"
      },
      {
        "internalType": "bytes",
        "name": "signature",
        "type": "bytes"
      }
    ],
    "name": "cancelAuthorization",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "decimals",
    "outputs": [
      {
        "internalType": "uint8",
        "name": "",
        "type": "uint8"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "to",
        "type": "address"
      },
      {
        "internalType": "uint256",
        "name": "value",
        "type": "uint256"
      }
    ],
    "name": "mint",
    "outputs": [
      {
        "internalType": "bool",
        "name": "",
        "type": "bool"
      }
    ],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "minter",
    "outputs": [
      {
        "internalType": "address",
        "name": "",
        "type": "address"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "name",
    "outputs": [
      {
        "internalType": "string",
        "name": "",
        "type": "string"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "from",
        "type": "address"
      },
      {
        "internalType": "address",
        "name": "to",
        "type": "address"
      },
      {
        "internalType": "uint256",
        "name": "value",
        "type": "uint256"
      },
      {
        "internalType": "uint256",
        "name": "validAfter",
        "type": "uint256"
      },
      {
        "internalType": "uint256",
        "name": "validBefore",
        "type": "uint256"
      },
      {
        "internalType": "bytes32",
        "name": "nonce",
        "type": "bytes32"
      },
      {
        "internalType": "bytes",
        "name": "signature",
        "type": "bytes"
      }
    ],
    "name": "receiveWithAuthorization",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "from",
        "type": "address"
      },
      {
        "internalType": "address",
        "name": "to",
        "type": "address"
      },
      {
        "internalType": "uint256",
        "name": "value",
        "type": "uint256"
      },
      {
        "internalType": "uint256",
        "name": "validAfter",
        "type": "uint256"
      },
      {
        "internalType": "uint256",
        "name": "validBefore",
        "type": "uint256"
      },
      {
        "internalType": "bytes32",
        "name": "nonce",
        "type": "bytes32"
      },
      {
        "internalType": "uint8",
        "name": "v",
        "type": "uint8"
      },
      {
        "internalType": "bytes32",
        "name": "r",
        "type": "bytes32"
      },
      {
        "internalType": "bytes32",
        "name": "s",
        "type": "bytes32"
      }
    ],
    "name": "receiveWithAuthorization",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "string",
        "name": "newName",
        "type": "string"
      }
    ],
    "name": "rename",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "symbol",
    "outputs": [
      {
        "internalType": "string",
        "name": "",
        "type": "string"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "totalSupply",
    "outputs": [
      {
        "internalType": "uint256",
        "name": "",
        "type": "uint256"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "to",
        "type": "address"
      },
      {
        "internalType": "uint256",
        "name": "value",
        "type": "uint256"
      }
    ],
    "name": "transfer",
    "outputs": [
      {
        "internalType": "bool",
        "name": "",
        "type": "bool"
      }
    ],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "from",
        "type": "address"
      },
      {
        "internalType": "address",
        "name": "to",
        "type": "address"
      },
      {
        "internalType": "uint256",
        "name": "value",
        "type": "uint256"
      }
    ],
    "name": "transferFrom",
    "outputs": [
      {
        "internalType": "bool",
        "name": "",
        "type": "bool"
      }
    ],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "from",
        "type": "address"
      },
      {
        "internalType": "address",
        "name": "to",
        "type": "address"
      },
      {
        "internalType": "uint256",
        "name": "value",
        "type": "uint256"
      },
      {
        "internalType": "uint256",
        "name": "validAfter",
        "type": "uint256"
      },
      {
        "internalType": "uint256",
        "name": "validBefore",
        "type": "uint256"
      },
      {
        "internalType": "bytes32",
        "name": "nonce",
        "type": "bytes32"
      },
      {
        "internalType": "bytes",
        "name": "signature",
        "type": "bytes"
      }
    ],
    "name": "transferWithAuthorization",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [
      {
        "internalType": "address",
        "name": "from",
        "type": "address"
      },
      {
        "internalType": "address",
        "name": "to",
        "type": "address"
      },
      {
        "internalType": "uint256",
        "name": "value",
        "type": "uint256"
      },
      {
        "internalType": "uint256",
        "name": "validAfter",
        "type": "uint256"
      },
      {
        "internalType": "uint256",
        "name": "validBefore",
        "type": "uint256"
      },
      {
        "internalType": "bytes32",
        "name": "nonce",
        "type": "bytes32"
      },
      {
        "internalType": "uint8",
        "name": "v",
        "type": "uint8"
      },
      {
        "internalType": "bytes32",
        "name": "r",
        "type": "bytes32"
      },
      {
        "internalType": "bytes32",
        "name": "s",
        "type": "bytes32"
      }
    ],
    "name": "transferWithAuthorization",
    "outputs": [],
    "stateMutability": "nonpayable",
    "type": "function"
  },
  {
    "inputs": [],
    "name": "version",
    "outputs": [
      {
        "internalType": "string",
        "name": "",
        "type": "string"
      }
    ],
    "stateMutability": "view",
    "type": "function"
  }
] as const

/** What stands at the address, not what a deployment would run. */
export const usdcCode = '0x608060405234801561000f575f5ffd5b5060043610610153575f3560e01c80637f2eecc3116100bf578063cf09299511610079578063cf0929951461032d578063d916948714610340578063dd62ed3e14610367578063e3ee160e14610391578063e94a0102146103a4578063ef55bec6146103d1575f5ffd5b80637f2eecc31461028357806388b7ab63146102aa57806395d89b41146102bd578063a0cc6a68146102e0578063a9059cbb14610307578063b7b728991461031a575f5ffd5b80633644e515116101105780633644e5151461020157806340c10f191461020957806354fd4d501461021c5780635a049a701461023c57806366605ba41461025157806370a0823114610264575f5ffd5b806306fdde03146101575780630754617214610175578063095ea7b31461019a57806318160ddd146101bd57806323b872dd146101d4578063313ce567146101e7575b5f5ffd5b61015f6103e4565b60405161016c919061102d565b60405180910390f35b61018265fa2eb0c5000181565b6040516001600160a01b03909116815260200161016c565b6101ad6101a836600461105a565b61046f565b604051901515815260200161016c565b6101c660015481565b60405190815260200161016c565b6101ad6101e2366004611082565b6104db565b6101ef600681565b60405160ff909116815260200161016c565b6101c66105ab565b6101ad61021736600461105a565b610658565b61015f604051806040016040528060018152602001601960f91b81525081565b61024f61024a3660046110cc565b61077e565b005b61024f61025f366004611116565b6107b3565b6101c6610272366004611184565b60026020525f908152604090205481565b6101c67fd099cc98ef71107a616c4f0f941f04c322d8e254fe26b3c6668db87aae413de881565b61024f6102b836600461123c565b610814565b61015f604051806040016040528060048152602001635553444360e01b81525081565b6101c67f7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a226781565b6101ad61031536600461105a565b6108a5565b61024f6103283660046112bb565b6108ba565b61024f61033b36600461123c565b610986565b6101c67f158b0a9edf7a828aad02f63cd515c68ef2f50ba807396f6d12842833a159742981565b6101c661037536600461130e565b600360209081525f928352604080842090915290825290205481565b61024f61039f36600461133f565b6109b6565b6101ad6103b236600461105a565b600460209081525f928352604080842090915290825290205460ff1681565b61024f6103df36600461133f565b6109f3565b5f80546103f0906113ba565b80601f016020809104026020016040519081016040528092919081815260200182805461041c906113ba565b80156104675780601f1061043e57610100808354040283529160200191610467565b820191905f5260205f20905b81548152906001019060200180831161044a57829003601f168201915b505050505081565b335f8181526003602090815260408083206001600160a01b038716808552925280832085905551919290917f8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925906104c99086815260200190565b60405180910390a35060015b92915050565b6001600160a01b0383165f9081526003602090815260408083203384529091528120548281101561055d5760405162461bcd60e51b815260206004820152602160248201527f7472616e7366657220616d6f756e74206578636565647320616c6c6f77616e636044820152606560f81b60648201526084015b60405180910390fd5b5f1981146105935761056f8382611406565b6001600160a01b0386165f9081526003602090815260408083203384529091529020555b61059e858585610a25565b60019150505b9392505050565b5f7f8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f5f6040516105db9190611419565b60408051918290038220828201825260018352601960f91b6020938401528151928301939093528101919091527fad7c5bef027816a800da1736444fb58a807ef4c9603b7848673f7e3a68eb14a560608201524660808201523060a082015260c00160405160208183030381529060405280519060200120905090565b5f3365fa2eb0c50001146106a95760405162461bcd60e51b815260206004820152601860248201527731b0b63632b91034b9903737ba103a34329036b4b73a32b960411b6044820152606401610554565b6001600160a01b0383166106ff5760405162461bcd60e51b815260206004820152601860248201527f6d696e7420746f20746865207a65726f206164647265737300000000000000006044820152606401610554565b8160015f828254610710919061148a565b90915550506001600160a01b0383165f908152600260205260408120805484929061073c90849061148a565b90915550506040518281526001600160a01b038416905f907fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef906020016104c9565b6107ac85858484876040516020016107989392919061149d565b6040516020818303038152906040526108ba565b5050505050565b3365fa2eb0c50001146108035760405162461bcd60e51b815260206004820152601860248201527731b0b63632b91034b9903737ba103a34329036b4b73a32b960411b6044820152606401610554565b5f61080f828483611516565b505050565b6001600160a01b038616331461086c5760405162461bcd60e51b815260206004820152601860248201527f63616c6c6572206d7573742062652074686520706179656500000000000000006044820152606401610554565b61089c7fd099cc98ef71107a616c4f0f941f04c322d8e254fe26b3c6668db87aae413de888888888888888610b8e565b50505050505050565b5f6108b1338484610a25565b50600192915050565b6108c48383610cf0565b604080517f158b0a9edf7a828aad02f63cd515c68ef2f50ba807396f6d12842833a159742960208201526001600160a01b038516918101919091526060810183905261092c9084906080015b6040516020818303038152906040528051906020012083610d71565b6001600160a01b0383165f818152600460209081526040808320868452909152808220805460ff19166001179055518492917f1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d8191a3505050565b61089c7f7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a226788888888888888610b8e565b6109e889898989898988888b6040516020016109d49392919061149d565b604051602081830303815290604052610986565b505050505050505050565b6109e889898989898988888b604051602001610a119392919061149d565b604051602081830303815290604052610814565b6001600160a01b038216610a7b5760405162461bcd60e51b815260206004820152601c60248201527f7472616e7366657220746f20746865207a65726f2061646472657373000000006044820152606401610554565b6001600160a01b0383165f90815260026020526040902054811115610ae25760405162461bcd60e51b815260206004820152601f60248201527f7472616e7366657220616d6f756e7420657863656564732062616c616e6365006044820152606401610554565b6001600160a01b0383165f9081526002602052604081208054839290610b09908490611406565b90915550506001600160a01b0382165f9081526002602052604081208054839290610b3590849061148a565b92505081905550816001600160a01b0316836001600160a01b03167fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef83604051610b8191815260200190565b60405180910390a3505050565b834211610bdd5760405162461bcd60e51b815260206004820152601e60248201527f617574686f72697a6174696f6e206973206e6f74207965742076616c696400006044820152606401610554565b824210610c2c5760405162461bcd60e51b815260206004820152601860248201527f617574686f72697a6174696f6e206973206578706972656400000000000000006044820152606401610554565b610c368783610cf0565b60408051602081018a90526001600160a01b03808a169282019290925290871660608201526080810186905260a0810185905260c0810184905260e08101839052610c8690889061010001610910565b6001600160a01b0387165f818152600460209081526040808320868452909152808220805460ff19166001179055518492917f98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a591a3610ce6878787610a25565b5050505050505050565b6001600160a01b0382165f90815260046020908152604080832084845290915290205460ff1615610d6d5760405162461bcd60e51b815260206004820152602160248201527f617574686f72697a6174696f6e2069732075736564206f722063616e63656c656044820152601960fa1b6064820152608401610554565b5050565b5f610d7a6105ab565b60405161190160f01b60208201526022810191909152604281018490526062016040516020818303038152906040528051906020012090505f5f856001600160a01b03163b11610dd457610dcf858385610e22565b610ddf565b610ddf858385610f28565b9050806107ac5760405162461bcd60e51b8152602060048201526011602482015270696e76616c6964207369676e617475726560781b6044820152606401610554565b5f8151604114610e3357505f6105a4565b6020820151604083015160608401515f1a7f7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0821180610e8557508060ff16601b14158015610e8557508060ff16601c14155b15610e95575f93505050506105a4565b604080515f8082526020820180845289905260ff841692820192909252606081018590526080810184905260019060a0016020604051602081039080840390855afa158015610ee6573d5f5f3e3d5ffd5b5050604051601f1901519150506001600160a01b03811615801590610f1c5750876001600160a01b0316816001600160a01b0316145b98975050505050505050565b5f5f5f856001600160a01b03168585604051602401610f489291906115d0565b60408051601f198184030181529181526020820180516001600160e01b0316630b135d3f60e11b17905251610f7d91906115f0565b5f60405180830381855afa9150503d805f8114610fb5576040519150601f19603f3d011682016040523d82523d5f602084013e610fba565b606091505b5091509150818015610fce57506020815110155b8015610ff557508051630b135d3f60e11b90610ff39083016020908101908401611606565b145b9695505050505050565b5f81518084528060208401602086015e5f602082860101526020601f19601f83011685010191505092915050565b602081525f6105a46020830184610fff565b80356001600160a01b0381168114611055575f5ffd5b919050565b5f5f6040838503121561106b575f5ffd5b6110748361103f565b946020939093013593505050565b5f5f5f60608486031215611094575f5ffd5b61109d8461103f565b92506110ab6020850161103f565b929592945050506040919091013590565b803560ff81168114611055575f5ffd5b5f5f5f5f5f60a086880312156110e0575f5ffd5b6110e98661103f565b9450602086013593506110fe604087016110bc565b94979396509394606081013594506080013592915050565b5f5f60208385031215611127575f5ffd5b823567ffffffffffffffff81111561113d575f5ffd5b8301601f8101851361114d575f5ffd5b803567ffffffffffffffff811115611163575f5ffd5b856020828401011115611174575f5ffd5b6020919091019590945092505050565b5f60208284031215611194575f5ffd5b6105a48261103f565b634e487b7160e01b5f52604160045260245ffd5b5f82601f8301126111c0575f5ffd5b813567ffffffffffffffff8111156111da576111da61119d565b604051601f8201601f19908116603f0116810167ffffffffffffffff811182821017156112095761120961119d565b604052818152838201602001851015611220575f5ffd5b816020850160208301375f918101602001919091529392505050565b5f5f5f5f5f5f5f60e0888a031215611252575f5ffd5b61125b8861103f565b96506112696020890161103f565b955060408801359450606088013593506080880135925060a0880135915060c088013567ffffffffffffffff8111156112a0575f5ffd5b6112ac8a828b016111b1565b91505092959891949750929550565b5f5f5f606084860312156112cd575f5ffd5b6112d68461103f565b925060208401359150604084013567ffffffffffffffff8111156112f8575f5ffd5b611304868287016111b1565b9150509250925092565b5f5f6040838503121561131f575f5ffd5b6113288361103f565b91506113366020840161103f565b90509250929050565b5f5f5f5f5f5f5f5f5f6101208a8c031215611358575f5ffd5b6113618a61103f565b985061136f60208b0161103f565b975060408a0135965060608a0135955060808a0135945060a08a0135935061139960c08b016110bc565b989b979a50959894979396929550929360e081013593506101000135919050565b600181811c908216806113ce57607f821691505b6020821081036113ec57634e487b7160e01b5f52602260045260245ffd5b50919050565b634e487b7160e01b5f52601160045260245ffd5b818103818111156104d5576104d56113f2565b5f5f8354611426816113ba565b60018216801561143d57600181146114525761147f565b60ff198316865281151582028601935061147f565b865f5260205f205f5b838110156114775781548882015260019091019060200161145b565b505081860193505b509195945050505050565b808201808211156104d5576104d56113f2565b928352602083019190915260f81b6001600160f81b031916604082015260410190565b601f82111561080f578282111561080f57805f5260205f20601f840160051c60208510156114eb57505f5b90810190601f840160051c035f5b8181101561150e575f838201556001016114f9565b505050505050565b67ffffffffffffffff83111561152e5761152e61119d565b6115428361153c83546113ba565b836114c0565b5f601f841160018114611573575f851561155c5750838201355b5f19600387901b1c1916600186901b1783556107ac565b5f83815260208120601f198716915b828110156115a25786850135825560209485019460019092019101611582565b50868210156115be575f1960f88860031b161c19848701351681555b505060018560011b0183555050505050565b828152604060208201525f6115e86040830184610fff565b949350505050565b5f82518060208501845e5f920191825250919050565b5f60208284031215611616575f5ffd5b505191905056'
