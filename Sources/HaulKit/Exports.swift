// Importing HaulKit also imports requests, events, errors and ids.
@_exported public import HaulCore
