; TSX.
; include ecmascript
