// Who imports HaulKit sees requests, events, errors and ids too.
@_exported public import HaulCore
