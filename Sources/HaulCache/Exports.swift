// Importing HaulCache also imports addresses, header fields, errors and the configuration of
// transfers.
@_exported public import HaulKit
